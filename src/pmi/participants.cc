// SPDX-License-Identifier: Apache-2.0
#include "pmi/participants.h"

#include <algorithm>
#include <numeric>

namespace muster {

std::string participants_text(std::string_view kind, std::vector<int> ranks,
                              int world_size) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const bool all =
      ranks.empty() || static_cast<int>(ranks.size()) == world_size;
  return std::string(kind) + ':' + (all ? "*" : rank_ranges(ranks));
}

Result<std::vector<int>> participant_ranks(std::string_view text,
                                           int world_size) {
  const size_t colon = text.find(':');
  const std::string_view ranks =
      colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (ranks == "*") {
    std::vector<int> all(static_cast<size_t>(world_size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  auto parsed = parse_rank_ranges(ranks, world_size);
  if (parsed && parsed->empty()) {
    return fail(Error{"protocol",
                      "a fence has no participants",
                      "'" + std::string(text.substr(0, 80)) + "'",
                      {},
                      {}});
  }
  return parsed;
}

std::vector<int> nodes_of(const World& world, const std::vector<int>& ranks) {
  std::vector<int> nodes;
  nodes.reserve(ranks.size());
  for (const int rank : ranks) nodes.push_back(world.node_of(rank));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace muster
