// SPDX-License-Identifier: Apache-2.0
// NCCL_SOCKET_IFNAME: only where NCCL's own order would take another
// interface than the one that the peers use. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/effective.h"
#include "fabric/job_state.h"

namespace muster {

namespace {

void report_unknown(FabricJob& job, const FabricPodState& pod,
                    const std::vector<std::string>& own) {
  if (own.size() < 2) return;
  report(job, &pod,
         {Severity::kWarning, "interface_unknown",
          "several interfaces could be the pods' network (" + join(own, ", ") +
              "), and the facts do not say which the peers reach",
          "",
          "give peer_address or default_route in the facts, or set "
          "NCCL_SOCKET_IFNAME"});
}

bool has_setting(const FabricPodState& pod, const char* name) {
  return std::any_of(pod.plan.settings.begin(), pod.plan.settings.end(),
                     [&](auto& setting) { return setting.name == name; });
}

std::string reason_for(const FabricPodState& pod, const std::string& first) {
  const FabricNetdev* netdev = find_netdev(*pod.facts, first);
  if (netdev == nullptr || first == pod.primary.name) {
    return "NCCL would spread TCP over interfaces that need not reach the "
           "peers";
  }
  return "NCCL would take " + first + " (" +
         std::string(netdev_class_name(netdev_class(*netdev))) +
         ") first, and the peers use " + pod.primary.name;
}

}  // namespace

void set_sockets(FabricJob& job) {
  if (job.transport == FabricTransport::kTcpx && job.profile != Profile::kRl) {
    return;  // its own profile script
  }
  const bool data_on_tcp =
      job.transport == FabricTransport::kTcp || job.profile == Profile::kRl;
  for (FabricPodState& pod : job.pods) {
    pod.plan.interface = pod.primary.name;
    pod.plan.interface_reason = pod.primary.reason;
    const auto own = nccl_interfaces(*pod.facts, pod.assumed_version());
    if (effective(*pod.facts, "NCCL_SOCKET_IFNAME")) continue;  // linted
    if (pod.on_loopback) continue;  // check_interfaces() says so
    if (has_setting(pod, "NCCL_SOCKET_IFNAME")) continue;  // the vendor's
    if (pod.primary.name.empty()) {
      if (!interfaces_meet(job, data_on_tcp)) report_unknown(job, pod, own);
      continue;
    }
    const bool first_wrong = !own.empty() && own.front() != pod.primary.name;
    const bool others = data_on_tcp && own.size() > 1;
    if (!first_wrong && !others) continue;
    FabricSetting setting{"NCCL",
                          "NCCL_SOCKET_IFNAME",
                          "=" + pod.primary.name,
                          reason_for(pod, own.front()),
                          pod.primary.reason,
                          FabricConfidence::kLikely,
                          "NCCL src/misc/socket.cc"};
    setting.alone = join(own, ", ");
    setting.rejected = {"^docker0 and the like: such a list lets lo back in",
                        pod.primary.name + " without =: also matches " +
                            pod.primary.name + "0"};
    propose(job, pod, setting);
  }
}

}  // namespace muster
