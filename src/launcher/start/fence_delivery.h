// SPDX-License-Identifier: Apache-2.0
// FenceDelivery: sends the data of fences to the nodes. There is one copy for
// all of them; a node gets the next piece while less than kQueueMark waits for
// it. So the launcher holds no more for it than that and a piece, and other
// frames for it come in between. A slow node holds up no other, and a lost one
// gets its pieces like any other, without a wait. Pure; the launcher's loop
// feeds it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/fence_board.h"
#include "wire/frame.h"

namespace muster {

class FenceDelivery {
 public:
  using Send = std::function<void(int node, wire::FrameType type, uint32_t id,
                                  std::string_view payload)>;
  // Bytes for a node that have not left the launcher.
  using Queued = std::function<size_t(int node)>;

  FenceDelivery(Send send, Queued queued)
      : send_(std::move(send)), queued_(std::move(queued)) {}

  void add(FenceOutcome outcome);
  // The node has room again.
  void go_on(int node);
  // The nodes that have not got all pieces.
  [[nodiscard]] size_t behind() const { return parts_.size(); }

 private:
  struct Part {
    uint32_t id = 0;
    std::shared_ptr<const std::string> data;
    size_t given = 0;
  };

  bool give_piece(int node);

  Send send_;
  Queued queued_;
  std::map<int, std::deque<Part>> parts_;  // by node, in order
};

}  // namespace muster
