// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/modex_map.h"

#include "pmi/world.h"

namespace muster {

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
    if (map.app_sizes.size() <= app) map.app_sizes.resize(app + 1, 0);
    ++map.app_sizes[app];
  }
  return map;
}

}  // namespace muster
