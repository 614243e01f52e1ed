// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/roll_call.h"

#include "wire/modex_messages.h"

namespace muster {

namespace {

// An agent gives its PMIx server one second.
constexpr Milliseconds kPatience{5'000};

}  // namespace

std::optional<std::vector<int>> RollCall::absent_among(
    const std::vector<int>& ranks, Clock::time_point now) {
  if (!asked_at_) {
    asked_at_ = now;
    for (const int rank : ranks) {
      const int node = world_.node_of(rank);
      if (!asked_.insert(node).second) continue;
      send_(node, wire::FrameType::kArrivalsRequest, 0, {});
    }
  }
  if (!asked_.empty() && now - *asked_at_ < kPatience) return std::nullopt;
  std::vector<int> absent;
  for (const int rank : ranks) {
    if (came_.count(rank) == 0) absent.push_back(rank);
  }
  return absent;
}

void RollCall::answered(int node, const wire::Frame& frame) {
  if (asked_.erase(node) == 0) return;
  const auto arrivals = wire::modex_from_json<wire::Arrivals>(frame.payload);
  if (!arrivals) return;
  for (const int rank : arrivals->ranks) {
    // A node speaks for its own ranks only.
    if (world_.has(rank) && world_.node_of(rank) == node) came_.insert(rank);
  }
}

}  // namespace muster
