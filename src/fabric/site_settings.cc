// SPDX-License-Identifier: Apache-2.0
// The site file's values, for the pods whose network their section names.
// They come before rules and vendor tables; the user's own values before
// them. Pure.
#include "fabric/job_state.h"

namespace muster {

namespace {

std::string_view section_of(Transport transport) {
  switch (transport) {
    case Transport::kInfiniBand:
      return "ib";
    case Transport::kRoce:
      return "roce";
    case Transport::kEfa:
      return "efa";
    case Transport::kSlingshot:
      return "slingshot";
    case Transport::kTcp:
      return "tcp";
    default:
      return "-";
  }
}

}  // namespace

void set_site_values(Job& job) {
  const std::string_view section = section_of(job.transport);
  for (const bool special : {true, false}) {
    for (const SiteValue& value : job.request.site.values) {
      if (value.section.empty() == special) continue;
      if (special && value.section != section) continue;
      for (PodState& pod : job.pods) {
        FabricSetting setting{"site",       value.name,
                              value.value,  "the site's administrators say so",
                              value.origin, FabricConfidence::kLikely,
                              "site file"};
        propose(job, pod, setting);
      }
    }
  }
}

}  // namespace muster
