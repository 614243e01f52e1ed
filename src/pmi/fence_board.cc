// SPDX-License-Identifier: Apache-2.0
#include "pmi/fence_board.h"

#include <algorithm>

#include "pmi/participants.h"
#include "pmi/pieces.h"

namespace muster {

namespace {

constexpr size_t kMostOpenFences = 4096;

tl::unexpected<Error> bad_fence(std::string why) {
  return fail(Error{"protocol",
                    "a fence cannot be completed",
                    std::move(why),
                    {},
                    "this is a defect of muster; report it"});
}

}  // namespace

Result<std::optional<FenceOutcome>> FenceBoard::add(
    FenceContribution contribution, Clock::time_point now) {
  const Key key{contribution.participants, contribution.sequence};
  auto found = fences_.find(key);
  if (found == fences_.end()) {
    auto ranks = participant_ranks(contribution.participants, world_.size());
    if (!ranks) return tl::unexpected(ranks.error());
    if (fences_.size() >= kMostOpenFences) {
      return bad_fence("4096 fences are open at once");
    }
    Fence fence;
    fence.nodes = nodes_of(world_, *ranks);
    fence.ranks = std::move(*ranks);
    fence.since = now;
    found = fences_.emplace(key, std::move(fence)).first;
  }
  Fence& fence = found->second;
  if (!std::binary_search(fence.nodes.begin(), fence.nodes.end(),
                          contribution.node)) {
    return bad_fence("node " + std::to_string(contribution.node) +
                     " does not take part in " + key.first);
  }
  if (!fence.arrived.emplace(contribution.node, contribution.id).second) {
    return bad_fence("node " + std::to_string(contribution.node) +
                     " arrived twice in " + key.first);
  }
  if (fence.data.size() + contribution.data.size() > kMostModexBytes) {
    return bad_fence("ranks put more than 512 MiB");
  }
  if (fence.data.empty()) {
    fence.data = std::move(contribution.data);
  } else {
    fence.data += contribution.data;
  }
  if (fence.arrived.size() < fence.nodes.size()) {
    return std::optional<FenceOutcome>();
  }
  FenceOutcome outcome;
  outcome.waiting.assign(fence.arrived.begin(), fence.arrived.end());
  outcome.data = std::move(fence.data);
  fences_.erase(found);
  return std::optional<FenceOutcome>(std::move(outcome));
}

StalledFence FenceBoard::describe(const Key& key, const Fence& fence) const {
  StalledFence out;
  out.participants = key.first;
  out.sequence = key.second;
  out.arrived_nodes = fence.arrived.size();
  for (const int node : fence.nodes) {
    if (fence.arrived.count(node) == 0) out.missing_nodes.push_back(node);
  }
  for (const int rank : fence.ranks) {
    if (fence.arrived.count(world_.node_of(rank)) == 0) {
      out.missing_ranks.push_back(rank);
    }
  }
  return out;
}

std::vector<StalledFence> FenceBoard::stalled(Clock::time_point since) const {
  std::vector<StalledFence> out;
  for (const auto& [key, fence] : fences_) {
    if (fence.since <= since) out.push_back(describe(key, fence));
  }
  return out;
}

bool FenceBoard::awaits(int rank) const {
  return std::any_of(fences_.begin(), fences_.end(), [&](const auto& entry) {
    const Fence& fence = entry.second;
    return fence.arrived.count(world_.node_of(rank)) == 0 &&
           std::binary_search(fence.ranks.begin(), fence.ranks.end(), rank);
  });
}

std::string ranks_on_hosts(const World& world, const std::vector<int>& ranks,
                           size_t limit) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  out += rank_ranges(ranks);
  const std::vector<int> nodes = nodes_of(world, ranks);
  for (size_t i = 0; i < nodes.size() && i < limit; ++i) {
    out += (i == 0 ? " on " : ", ") + world.host(nodes[i]);
  }
  if (nodes.size() > limit) {
    out += " and " + std::to_string(nodes.size() - limit) + " more hosts";
  }
  return out;
}

}  // namespace muster
