// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/modex_map.h"

#include "base/text.h"
#include "pmi/world.h"

namespace muster {

namespace {

// A longer one is left out: people read it.
constexpr size_t kLongestCommand = 16 << 10;

std::string command_of(const std::vector<std::string>& argv) {
  std::string out = join(argv, " ");
  return out.size() > kLongestCommand ? "" : out;
}

}  // namespace

wire::JobMap job_map(const Agreement& agreement, const std::string& launch_id,
                     const std::string& secret, bool emulated) {
  wire::JobMap map;
  map.nspace = "muster-" + launch_id + "-" + secret;
  map.size = static_cast<int>(agreement.plan.ranks.size());
  map.emulated = emulated;
  for (const PlannedNode& node : agreement.plan.nodes) {
    map.nodes.push_back({node.name, rank_ranges(node.ranks)});
  }
  for (const PlannedRank& rank : agreement.plan.ranks) {
    const auto app = static_cast<size_t>(rank.app);
    if (map.programs.size() <= app) map.programs.resize(app + 1);
    wire::JobMapProgram& program = map.programs[app];
    if (++program.ranks == 1) program.command = command_of(rank.argv);
  }
  return map;
}

}  // namespace muster
