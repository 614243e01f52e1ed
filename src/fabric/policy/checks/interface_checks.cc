// SPDX-License-Identifier: Apache-2.0
// Networks of a pod that mislead TCP whatever NCCL_SOCKET_IFNAME says: the
// peers' address on lo, where NCCL finds 127.0.0.1 first (NVIDIA/nccl#1053),
// and two interfaces in one subnet, of which the kernel's routes choose one
// (NVIDIA/nccl#1580). Only reports. Pure.
#include <map>

#include "base/text.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

void check_loopback(FabricJob& job, const FabricPodState& pod) {
  if (!pod.on_loopback || job.pods.size() < 2) return;
  report(job, &pod,
         {pod.version ? Severity::kError : Severity::kWarning,
          "address_on_loopback",
          "the address that the peers use, " +
              bare_address(pod.facts->peer_address) +
              ", is on lo: NCCL takes the first address there, 127.0.0.1, and "
              "its processes on other nodes wait for it",
          "NVIDIA/nccl#1053",
          "give the address to an interface of its own, for example one of "
          "type dummy, and name that in NCCL_SOCKET_IFNAME"});
}

// "10.0.0.0/24" -> the interfaces in it; rails of RDMA are apart by design.
std::map<std::string, std::vector<std::string>> by_network(
    const FabricPodState& pod) {
  std::map<std::string, std::vector<std::string>> out;
  if (!pod.facts->netdevs) return out;
  for (const FabricNetdev& netdev : *pod.facts->netdevs) {
    if (netdev_class(netdev) != NetdevClass::kUsable) continue;
    if (is_rail(pod, netdev.name) || netdev.kind == "ipoib") continue;
    for (const std::string& address : netdev.addresses) {
      const std::string network = network_of(address);
      if (network.empty() || network.ends_with("/32")) continue;
      auto& names = out[network];
      if (names.empty() || names.back() != netdev.name) {
        names.push_back(netdev.name);
      }
    }
  }
  return out;
}

void check_subnets(FabricJob& job, const FabricPodState& pod) {
  if (job.transport == FabricTransport::kSlingshot) return;  // hsn0 to hsn3
  for (const auto& [network, names] : by_network(pod)) {
    if (names.size() < 2) continue;
    const bool on_tcp = job.transport == FabricTransport::kTcp;
    report(
        job, &pod,
        {on_tcp ? Severity::kWarning : Severity::kInfo, "same_subnet",
         join(names, names.size() == 2 ? " and " : ", ") +
             (names.size() == 2 ? " are both in " : " are all in ") + network +
             ": connections leave by the one that the routing table has "
             "first, whichever NCCL chose",
         "NVIDIA/nccl#1580",
         "give every interface a subnet of its own, or routes with "
         "different metrics"});
  }
}

// By default the kernel answers for each of its addresses on any interface:
// data for eight adapters arrives at one of them.
void check_rails(FabricJob& job, const FabricPodState& pod) {
  std::map<std::string, std::vector<std::string>> rails;
  for (const PortView& view : pod.ports) {
    const std::string subnet = port_subnet(pod, view);
    if (view.chosen && !subnet.empty() && !subnet.ends_with("/32")) {
      rails[subnet].push_back(view.port->netdev);
    }
  }
  if (job.transport != FabricTransport::kRoce || job.pods.size() < 2) return;
  for (const auto& [subnet, names] : rails) {
    if (names.size() < 2) continue;
    report(job, &pod,
           {Severity::kInfo, "rails_one_subnet",
            std::to_string(names.size()) +
                " RoCE interfaces are in one "
                "subnet (" +
                subnet +
                "): the kernel answers ARP for all of them "
                "on any, unless arp_ignore and arp_announce keep them apart",
            "NVIDIA/nccl#1109, #2158",
            "net.ipv4.conf.all.arp_ignore=1 and arp_announce=2 on the nodes, "
            "or a subnet for each adapter's number"});
    return;
  }
}

// In one network a sender gets no error for packets that are too large.
void check_mtus(FabricJob& job) {
  std::map<std::string, std::map<int, const FabricPodState*>> by_place;
  for (const FabricPodState& pod : job.pods) {
    const FabricNetdev* netdev = find_netdev(*pod.facts, pod.primary.name);
    if (netdev == nullptr || netdev->mtu <= 0) continue;
    for (const std::string& address : netdev->addresses) {
      const std::string network = network_of(address);
      if (network.empty() || network.ends_with("/32")) continue;
      by_place[network].emplace(netdev->mtu, &pod);
    }
  }
  for (const auto& [network, mtus] : by_place) {
    if (mtus.size() < 2) continue;
    const auto& [low, small] = *mtus.begin();
    const auto& [high, large] = *mtus.rbegin();
    report(job, nullptr,
           {job.transport == FabricTransport::kTcp ? Severity::kWarning
                                                   : Severity::kInfo,
            "mtu_differs",
            large->primary.name + " has an MTU of " + std::to_string(high) +
                " in " + large->plan.name + ", and " + small->primary.name +
                " one of " + std::to_string(low) + " in " + small->plan.name +
                ", both in " + network +
                ": connections come about, and large messages hang",
            "the interfaces' MTUs", "give them the same MTU, switches too"});
    return;
  }
}

}  // namespace

void check_interfaces(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) {
    check_loopback(job, pod);
    check_subnets(job, pod);
    check_rails(job, pod);
  }
  if (job.pods.size() > 1) check_mtus(job);
}

}  // namespace muster
