// SPDX-License-Identifier: Apache-2.0
// The site file's values, for the pods whose network their section names.
// They come before rules and vendor tables; the user's own values before
// them. Pure.
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

std::string_view section_of(FabricTransport transport) {
  switch (transport) {
    case FabricTransport::kInfiniBand:
      return "ib";
    case FabricTransport::kRoce:
      return "roce";
    case FabricTransport::kEfa:
      return "efa";
    case FabricTransport::kSlingshot:
      return "slingshot";
    case FabricTransport::kTcp:
      return "tcp";
    default:
      return "-";
  }
}

}  // namespace

void set_site_values(FabricJob& job) {
  const std::string_view section = section_of(job.transport);
  for (const bool special : {true, false}) {
    for (const SiteValue& value : job.request.site.values) {
      if (value.section.empty() == special) continue;
      if (special && value.section != section) continue;
      for (FabricPodState& pod : job.pods) {
        FabricSetting setting{"site",       value.name,
                              value.value,  "the site's administrators say so",
                              value.origin, FabricConfidence::kLikely,
                              "site file"};
        setting.alone = "its default";
        setting.rejected = {"rules and vendors' tables: the site knows more"};
        propose(job, pod, setting);
      }
    }
  }
}

}  // namespace muster
