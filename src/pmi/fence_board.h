// SPDX-License-Identifier: Apache-2.0
// FenceBoard: joins the contributions of all nodes to a fence. Matches by
// participants and sequence, never by participants alone: a node may be in the
// next fence while another still waits for the result of this one. Refuses:
// nodes that do not take part, a second contribution of one node, more data
// than kMostModexBytes. Pure; the launcher's loop feeds it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "pmi/world.h"

namespace muster {

struct FenceContribution {
  int node = 0;     // index in the world
  uint32_t id = 0;  // the node's id for the result
  std::string participants;
  uint32_t sequence = 0;
  std::string data;
};

struct FenceOutcome {
  std::vector<std::pair<int, uint32_t>> waiting;  // node, id
  std::string data;  // all contributions, one after the other
};

struct StalledFence {
  std::string participants;
  uint32_t sequence = 0;
  std::vector<int> missing_nodes;
  std::vector<int> missing_ranks;  // participants on those nodes
  size_t arrived_nodes = 0;
};

class FenceBoard {
 public:
  explicit FenceBoard(const World& world) : world_(world) {}

  // The outcome once the last participant's node has contributed.
  Result<std::optional<FenceOutcome>> add(FenceContribution contribution,
                                          Clock::time_point now);
  // Fences whose first contribution came before `since`.
  [[nodiscard]] std::vector<StalledFence> stalled(
      Clock::time_point since) const;
  // Open fences in which `rank` takes part and its node has not contributed.
  [[nodiscard]] bool awaits(int rank) const;
  [[nodiscard]] size_t open() const { return fences_.size(); }

 private:
  struct Fence {
    std::vector<int> ranks;
    std::vector<int> nodes;
    std::map<int, uint32_t> arrived;  // node -> id
    std::string data;
    Clock::time_point since;
  };
  using Key = std::pair<std::string, uint32_t>;

  [[nodiscard]] StalledFence describe(const Key& key, const Fence& fence) const;

  const World& world_;
  std::map<Key, Fence> fences_;
};

// "rank 2 on w-1" or "ranks 2-5 on w-1, w-2"; at most `limit` hosts by name.
std::string ranks_on_hosts(const World& world, const std::vector<int>& ranks,
                           size_t limit);

}  // namespace muster
