// SPDX-License-Identifier: Apache-2.0
// NCCL_SOCKET_IFNAME: only if NCCL's own order would take another interface
// than the one that the peers use; NCCL_SOCKET_FAMILY: only if the pods have no
// family of addresses in common otherwise. Pure.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"

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

// NCCL's interface in this pod: by the user, by muster, or by itself.
const FabricNetdev* listening(const FabricPodState& pod) {
  if (has_setting(pod, "NCCL_SOCKET_IFNAME") && !pod.primary.name.empty()) {
    return find_netdev(*pod.facts, pod.primary.name);
  }
  const auto users = effective(*pod.facts, "NCCL_SOCKET_IFNAME");
  const auto own = nccl_interfaces(*pod.facts, pod.assumed_version(),
                                   users ? users->value : "");
  return own.empty() ? nullptr : find_netdev(*pod.facts, own.front());
}

bool has_family(const FabricNetdev& netdev, bool ipv6) {
  return std::any_of(netdev.addresses.begin(), netdev.addresses.end(),
                     [&](auto& address) {
                       return (address.find(':') != address.npos) == ipv6 &&
                              !(ipv6 && to_lower(address).starts_with("fe80"));
                     });
}

// NCCL takes an interface's IPv4 address first. A pod with IPv6 alone does not
// reach those of pods that have both (NVIDIA/nccl#210).
void set_family(FabricJob& job) {
  std::string with_ipv4;
  std::string without;
  bool all_ipv6 = true;
  for (const FabricPodState& pod : job.pods) {
    const FabricNetdev* netdev = listening(pod);
    if (netdev == nullptr || effective(*pod.facts, "NCCL_SOCKET_FAMILY")) {
      return;
    }
    const bool ipv4 = has_family(*netdev, false);
    const bool ipv6 = has_family(*netdev, true);
    if (!ipv4 && !ipv6) return;
    (ipv4 ? with_ipv4 : without) = pod.plan.name;
    all_ipv6 = all_ipv6 && ipv6;
  }
  if (with_ipv4.empty() || without.empty()) return;
  const std::string seen = without + " has no IPv4 address where NCCL listens";
  if (!all_ipv6) {
    report(job, nullptr,
           {Severity::kError, "socket_family_differs",
            seen + ", and " + with_ipv4 +
                " has no IPv6 address: their processes do not reach each other",
            "NVIDIA/nccl#210",
            "give all pods addresses of one family, or name an interface that "
            "has one in NCCL_SOCKET_IFNAME"});
    return;
  }
  for (FabricPodState& pod : job.pods) {
    FabricSetting setting{"NCCL",
                          "NCCL_SOCKET_FAMILY",
                          "AF_INET6",
                          seen + ", and NCCL prefers IPv4 in the others",
                          "addresses of " + with_ipv4 + " and " + without,
                          FabricConfidence::kLikely,
                          "NCCL src/misc/socket.cc; NVIDIA/nccl#210"};
    setting.alone = "IPv4 where there is an address";
    setting.rejected = {"AF_INET: " + without + " has no such address"};
    propose(job, pod, setting);
  }
}

void take_users_interface(FabricPodState& pod, const EffectiveValue& users) {
  const auto named =
      nccl_interfaces(*pod.facts, pod.assumed_version(), users.value);
  if (named.empty()) return;
  pod.plan.interface = named.front();
  pod.plan.interface_reason =
      "NCCL_SOCKET_IFNAME=" + users.value + " (" + users.origin + ")";
}

// On InfiniBand NCCL listens on IPoIB, which joins the adapters that move the
// data: if the pods meet there, it needs no setting; if that is unknown, a name
// alone proves nothing against it.
bool ipoib_will_do(const FabricJob& job) {
  const bool meet = interfaces_meet(job, false);
  return job.transport == FabricTransport::kInfiniBand &&
         std::all_of(job.pods.begin(), job.pods.end(), [&](auto& pod) {
           const auto own = nccl_interfaces(*pod.facts, pod.assumed_version());
           return (meet || pod.primary.by_name) && !own.empty() &&
                  own.front().starts_with("ib");
         });
}

void set_interfaces(FabricJob& job) {
  const bool data_on_tcp =
      job.transport == FabricTransport::kTcp || job.profile == Profile::kRl;
  // The same for all pods, and each looks at all pods: computed once, if
  // needed.
  std::optional<bool> meet;
  std::optional<bool> ipoib;
  for (FabricPodState& pod : job.pods) {
    pod.plan.interface = pod.primary.name;
    pod.plan.interface_reason = pod.primary.reason;
    if (const auto users = effective(*pod.facts, "NCCL_SOCKET_IFNAME")) {
      take_users_interface(pod, *users);  // lint_lists() has looked at it
      continue;
    }
    const auto own = nccl_interfaces(*pod.facts, pod.assumed_version());
    if (pod.on_loopback) continue;  // check_interfaces() says so
    if (has_setting(pod, "NCCL_SOCKET_IFNAME")) continue;  // the vendor's
    if (pod.primary.name.empty()) {
      if (!meet) meet = interfaces_meet(job, data_on_tcp);
      if (!*meet) report_unknown(job, pod, own);
      continue;
    }
    const bool first_wrong = !own.empty() && own.front() != pod.primary.name;
    const bool others = data_on_tcp && own.size() > 1;
    if (!first_wrong && !others) continue;
    if (!data_on_tcp && !ipoib) ipoib = ipoib_will_do(job);
    if (ipoib.value_or(false)) {
      pod.plan.interface = own.front();
      pod.plan.interface_reason = "NCCL takes it first";
      continue;
    }
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

}  // namespace

void set_sockets(FabricJob& job) {
  if (job.transport == FabricTransport::kTcpx && job.profile != Profile::kRl) {
    return;  // its own profile script
  }
  set_interfaces(job);
  if (job.pods.size() > 1) set_family(job);
}

}  // namespace muster
