// SPDX-License-Identifier: Apache-2.0
// DirectGets: passes a node's requests to another node's ranks, and the answers
// back, as they come. While kQueueMark or more bytes wait for a node, it sends
// no more requests for it, so that only answers already under way pile up for a
// slow reader. The node's gets wait here, in order, and hold up no other node.
// Refuses: an answer from another node than the one asked, a second answer,
// more data than announced. Pure; the launcher's loop feeds it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "wire/frame.h"

namespace muster {

class DirectGets {
 public:
  using Send = std::function<void(int node, wire::FrameType type, uint32_t id,
                                  std::string_view payload)>;
  // Bytes for a node that have not left the launcher.
  using Queued = std::function<size_t(int node)>;
  struct Get {
    int asker = 0;
    uint32_t id = 0;  // the asker's id
    int owner = 0;    // the node of `rank`
    int rank = -1;
    Clock::time_point since;
    bool sent = false;       // to the owner
    uint64_t remaining = 0;  // bytes of the answer still to pass on
  };

  DirectGets(Send send, Queued queued)
      : send_(std::move(send)), queued_(std::move(queued)) {}

  void ask(Get get);
  void replied(int node, const wire::Frame& frame);
  void data(int node, const wire::Frame& frame);
  // The node has room again.
  void go_on(int node);
  // Takes out and returns those asked before `limit`.
  std::vector<Get> expire(Clock::time_point limit);

 private:
  // The get that `node` was asked with this id; null: none.
  Get* asked(int node, uint32_t id);

  Send send_;
  Queued queued_;
  uint32_t next_ = 0;
  std::map<uint32_t, Get> gets_;
  std::map<int, std::deque<uint32_t>> held_;  // by asker; may hold lost nodes
};

}  // namespace muster
