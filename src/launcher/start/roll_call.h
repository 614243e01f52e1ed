// SPDX-License-Identifier: Apache-2.0
// RollCall: when a first fence is late, a whole node is missing, or, if all
// ranks lie on one, none is: its ranks meet without us. RollCall asks the
// nodes, once, which of their ranks have put their data, which comes just
// before the fence. All wait for the ranks that have not. Pure; the launcher's
// loop feeds it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "pmi/world.h"
#include "wire/frame.h"

namespace muster {

class RollCall {
 public:
  using Send = std::function<void(int node, wire::FrameType type, uint32_t id,
                                  std::string_view payload)>;

  RollCall(const World& world, Send send)
      : world_(world), send_(std::move(send)) {}

  // Those of `ranks` that have not come. nullopt: the question is under way;
  // call again. After a few seconds a silent node's ranks have not come.
  std::optional<std::vector<int>> absent_among(const std::vector<int>& ranks,
                                               Clock::time_point now);
  void answered(int node, const wire::Frame& frame);

 private:
  const World& world_;
  Send send_;
  std::optional<Clock::time_point> asked_at_;
  std::set<int> asked_;  // nodes that have not answered
  std::set<int> came_;   // ranks
};

}  // namespace muster
