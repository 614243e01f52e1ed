// SPDX-License-Identifier: Apache-2.0
#include "pmi/pmi1_port.h"

#include "pmi/pmi1_line.h"

namespace muster {

int Pmi1Ids::give(int rank, uint32_t random) {
  constexpr uint32_t kPositive = 0x7fffffff;
  for (auto at = ranks_.begin(); at != ranks_.end(); ++at) {
    if (at->second != rank) continue;
    ranks_.erase(at);  // the rank is started again
    break;
  }
  int id = static_cast<int>(random & kPositive);
  while (!ranks_.try_emplace(id, rank).second) id = id > 0 ? id - 1 : 1 << 30;
  return id;
}

std::optional<int> Pmi1Ids::rank_of(std::string_view text) const {
  const Pmi1Line line = parse_pmi1_line(text);
  if (line.command != "initack") return std::nullopt;
  const auto id = line.get_int("pmiid");
  const auto found = id ? ranks_.find(*id) : ranks_.end();
  if (found == ranks_.end()) return std::nullopt;
  return found->second;
}

std::string pmi1_welcome(const World& world, int rank) {
  return "cmd=initack rc=0\n"
         "cmd=set size=" +
         std::to_string(world.size()) +
         "\n"
         "cmd=set rank=" +
         std::to_string(rank) +
         "\n"
         "cmd=set debug=0\n";
}

}  // namespace muster
