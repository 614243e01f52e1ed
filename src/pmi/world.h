// SPDX-License-Identifier: Apache-2.0
// World: the ranks and nodes of a natively started job, as one value that
// launcher and agents share: ranks of each node, node and local rank of each
// rank. Refuses maps in which a rank is missing, twice, or out of range. Pure;
// immutable once made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/modex_messages.h"

namespace muster {

class World {
 public:
  World() = default;
  // Error code "protocol".
  static Result<World> from(const wire::JobMap& map);

  [[nodiscard]] const std::string& nspace() const { return map_.nspace; }
  [[nodiscard]] int size() const { return map_.size; }
  // The node whose agent got the map, as the map numbers them.
  [[nodiscard]] int own_node() const { return map_.node; }
  [[nodiscard]] int nodes() const {
    return static_cast<int>(map_.nodes.size());
  }
  [[nodiscard]] const std::string& host(int node) const {
    return map_.nodes[static_cast<size_t>(node)].host;
  }
  // Ascending.
  [[nodiscard]] const std::vector<int>& ranks_of(int node) const {
    return ranks_[static_cast<size_t>(node)];
  }
  [[nodiscard]] const std::vector<int>& own_ranks() const {
    return ranks_of(own_node());
  }
  [[nodiscard]] bool all_here() const {
    return own_ranks().size() == static_cast<size_t>(size());
  }
  [[nodiscard]] bool has(int rank) const { return rank >= 0 && rank < size(); }
  [[nodiscard]] int node_of(int rank) const {
    return node_of_[static_cast<size_t>(rank)];
  }
  [[nodiscard]] int local_rank(int rank) const {
    return local_rank_[static_cast<size_t>(rank)];
  }
  // Index of the program of `rank`, and its facts.
  [[nodiscard]] int app_of(int rank) const;
  [[nodiscard]] const std::vector<wire::JobMapProgram>& programs() const {
    return map_.programs;
  }
  // The CPUs that a rank of ours is bound to, ascending; empty: not bound.
  [[nodiscard]] std::vector<int> cpus_of(int own_rank) const;
  // The directory of ranks whose program has none; empty: the agent's own.
  [[nodiscard]] const std::string& cwd_if_there() const {
    return map_.cwd_if_there;
  }
  [[nodiscard]] bool emulated() const { return map_.emulated; }
  // "rank 3 on w-1"
  [[nodiscard]] std::string who(int rank) const;

 private:
  wire::JobMap map_;
  std::vector<std::vector<int>> ranks_;
  std::vector<int> node_of_;
  std::vector<int> local_rank_;
};

// {0, 1, 2, 8} <-> "0-2,8". Parsing refuses ranks outside of [0, size) and
// anything that is not ascending; error code "protocol".
std::string rank_ranges(const std::vector<int>& ascending);
Result<std::vector<int>> parse_rank_ranges(std::string_view text, int size);

}  // namespace muster
