// SPDX-License-Identifier: Apache-2.0
// lint_interfaces(): the interfaces of the pod that NCCL_SOCKET_IFNAME chooses,
// and whether they reach the other pods. Source: NCCL src/misc/socket.cc and
// src/transport/net_socket.cc. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/lint/lint.h"

namespace muster {

namespace {

// One of docker0's kind: not up to the others, or the same address in all.
bool leads_nowhere(const FabricJob& job, const FabricPodState& pod,
                   const std::string& name) {
  const FabricNetdev& netdev = *find_netdev(*pod.facts, name);
  if (netdev_class(netdev) != NetdevClass::kUsable) return true;
  return std::any_of(
      job.pods.begin(), job.pods.end(), [&](const FabricPodState& other) {
        const FabricNetdev* there = find_netdev(*other.facts, name);
        return &other != &pod && there != nullptr &&
               there->addresses == netdev.addresses;
      });
}

// TCP goes over all interfaces of the list at once. Harmless if all pods meet
// on each of them; if their networks differ there may be routes, and a user who
// names each knows so.
void lint_spread(FabricJob& job, FabricPodState& pod, const std::string& value,
                 const NameList& list, const std::vector<std::string>& taken) {
  if (taken.size() < 2 || job.pods.size() < 2) return;
  if (job.transport != FabricTransport::kTcp && job.profile != Profile::kRl) {
    return;
  }
  if (interfaces_meet(job, true, true)) return;
  std::vector<std::string> nowhere;
  for (const std::string& name : taken) {
    if (leads_nowhere(job, pod, name)) nowhere.push_back(name);
  }
  const bool by_name =
      !list.exclude && list.entries.size() == taken.size() &&
      std::all_of(list.entries.begin(), list.entries.end(), [&](auto& entry) {
        return std::find(taken.begin(), taken.end(), entry.name) != taken.end();
      });
  if (nowhere.empty() && by_name) return;
  report(job, &pod,
         {nowhere.empty() ? Severity::kInfo : Severity::kWarning,
          "lint_several_interfaces",
          "NCCL_SOCKET_IFNAME=" + value + " takes " + join(taken, ", ") +
              ": NCCL spreads TCP over all of them" +
              (nowhere.empty() ? ", and they need routes to the other pods"
                               : ", and " + join(nowhere, ", ") +
                                     " does not lead to the other pods"),
          "NCCL src/transport/net_socket.cc",
          "NCCL_SOCKET_IFNAME==" + (pod.primary.name.empty()
                                        ? "NAME of the pods' network"
                                        : pod.primary.name)});
}

// The bootstrap's interface.
void lint_first(FabricJob& job, FabricPodState& pod, const std::string& value,
                const std::string& first) {
  if (pod.primary.name.empty() || first == pod.primary.name) return;
  if (interfaces_meet(job, false, true)) return;
  // The peers' address is certain; that of the default route is a guess, and
  // the user may well know better. Slingshot's are its vendor's choice.
  const bool certain = !pod.facts->peer_address.empty();
  const FabricNetdev* netdev = find_netdev(*pod.facts, first);
  const bool usable =
      netdev != nullptr && netdev_class(*netdev) == NetdevClass::kUsable;
  if (job.transport == FabricTransport::kSlingshot && usable) return;
  report(job, &pod,
         {certain || !usable ? Severity::kWarning : Severity::kInfo,
          "lint_other_interface",
          "NCCL_SOCKET_IFNAME=" + value + " chooses " + first + ", and " +
              (certain ? "the peers use " : "the pods' network seems to be ") +
              pod.primary.name,
          pod.primary.reason, "NCCL_SOCKET_IFNAME==" + pod.primary.name});
}

// For certain: it is down, or the facts list addresses, and only others have
// one.
bool has_no_address(const FabricNetdev& netdev, bool others) {
  const NetdevClass kind = netdev_class(netdev);
  if (kind == NetdevClass::kDown) return true;
  return kind == NetdevClass::kNoAddress && others &&
         (netdev.up || netdev.running) && !yes(netdev.default_route);
}

// The list's interfaces are in the pod, and none has an address.
void lint_without_address(FabricJob& job, const FabricPodState& pod,
                          const std::string& value, const NameList& list) {
  if (!pod.facts->netdevs) return;
  const auto& netdevs = *pod.facts->netdevs;
  const bool others =
      std::any_of(netdevs.begin(), netdevs.end(), [](auto& netdev) {
        return netdev_class(netdev) == NetdevClass::kUsable;
      });
  std::vector<std::string> named;
  for (const FabricNetdev& netdev : netdevs) {
    if (!admits(list, netdev.name)) continue;
    if (!has_no_address(netdev, others)) return;
    named.push_back(netdev.name + " (" +
                    std::string(netdev_class_name(netdev_class(netdev))) + ")");
  }
  if (named.empty()) return;  // lint_matches() says so
  report(
      job, &pod,
      {pod.version ? Severity::kError : Severity::kWarning, "lint_no_address",
       "NCCL_SOCKET_IFNAME=" + value + " takes " + join(named, ", ") +
           " only: NCCL stops with \"no socket interface found\"",
       "NCCL src/misc/socket.cc",
       pod.primary.name.empty()
           ? "name the interface of the pods' network, or remove it"
           : "NCCL_SOCKET_IFNAME==" + pod.primary.name + ", or remove it"});
}

}  // namespace

void lint_interfaces(FabricJob& job, FabricPodState& pod,
                     const std::string& value, const NameList& list) {
  const bool keeps_lo_out =
      std::any_of(list.entries.begin(), list.entries.end(),
                  [](auto& entry) { return entry.name.starts_with("lo"); });
  const auto taken = nccl_interfaces(*pod.facts, pod.assumed_version(), value);
  if (list.exclude && !keeps_lo_out) {
    // lo is the system's first interface, and has no exclusion of its own.
    const bool chosen = !taken.empty() && taken.front() == "lo" &&
                        job.pods.size() > 1 && pod.version &&
                        *pod.version >= kLoAdmitted;
    report(job, &pod,
           {chosen ? Severity::kError : Severity::kWarning, "lint_readmits_lo",
            "NCCL_SOCKET_IFNAME=" + value +
                " replaces NCCL's own exclusions (lo, docker): NCCL takes " +
                (chosen ? "lo, over which no other pod is reached"
                        : "lo where the system has it first"),
            "horovod/horovod#700",
            "NCCL_SOCKET_IFNAME=^lo,docker or the name of the interface"});
    if (chosen) return;
  }
  if (taken.empty()) return lint_without_address(job, pod, value, list);
  // Of several names the system's order counts, in which lo is the first.
  const bool by_name = !list.exclude && taken.front() == "lo";
  if (by_name || std::all_of(taken.begin(), taken.end(),
                             [](auto& name) { return name == "lo"; })) {
    if (job.pods.size() < 2) return;  // one pod may talk to itself over lo
    report(job, &pod,
           {Severity::kError, "lint_loopback",
            "NCCL_SOCKET_IFNAME=" + value +
                " chooses lo, over which no other pod is reached",
            "NVIDIA/nccl#286", "take lo out"});
    return;
  }
  lint_spread(job, pod, value, list, taken);
  lint_first(job, pod, value, taken.front());
}

}  // namespace muster
