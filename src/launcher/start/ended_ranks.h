// SPDX-License-Identifier: Apache-2.0
// EndedRanks: tells nodes whose ranks still run which ranks have ended, so that
// their PMIx server can give it as an event to the ranks that registered. It
// sends ends together, a moment after the first: if all ranks end at once, no
// rank is left, and it sends nothing. Loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "wire/frame.h"
#include "wire/modex_messages.h"

namespace muster {

class EndedRanks {
 public:
  using Send = std::function<void(int node, wire::FrameType type, uint32_t id,
                                  std::string_view payload)>;
  // The nodes whose ranks still run.
  using Listeners = std::function<std::vector<int>()>;

  EndedRanks(Loop& loop, size_t ranks, Send send, Listeners listeners)
      : told_(ranks, false),
        send_(std::move(send)),
        listeners_(std::move(listeners)),
        later_(loop) {}

  // `at_once`: the job is about to end because of it. A second end of the same
  // rank adds nothing.
  void add(wire::RankEnd end, bool at_once);

 private:
  void tell();

  std::vector<bool> told_;
  wire::RanksEnded news_;
  Send send_;
  Listeners listeners_;
  Timer later_;
};

}  // namespace muster
