// SPDX-License-Identifier: Apache-2.0
// Networks of a pod that mislead TCP whatever NCCL_SOCKET_IFNAME says: the
// peers' address on lo, where NCCL finds 127.0.0.1 first (NVIDIA/nccl#1053),
// and two interfaces in one subnet, of which the kernel's routes choose one
// (NVIDIA/nccl#1580); one address in several pods. Only reports. Pure.
#include <map>

#include "base/text.h"
#include "fabric/policy/gids.h"
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

// The address by which the peers would know the pod; "" where nobody said.
std::string own_address(const FabricPodState& pod) {
  if (!pod.facts->peer_address.empty()) {
    return bare_address(pod.facts->peer_address);
  }
  const FabricNetdev* netdev = find_netdev(*pod.facts, pod.primary.name);
  return netdev == nullptr || netdev->addresses.empty()
             ? ""
             : bare_address(netdev->addresses.front());
}

// Networks that docker and hypervisors make anew on each machine, behind NAT.
bool is_of_each_machine(const std::string& address) {
  FabricGid gid;
  gid.gid = address;
  return gid_in(gid, "172.17.0.0/16") || address == "10.0.2.15";
}

// Pods on one node's network share its address; others that have the same one
// are behind NAT, or were written down once for all.
void check_same_address(FabricJob& job) {
  std::map<std::string, std::vector<std::string>> pods;
  for (const FabricPodState& pod : job.pods) {
    const std::string address = own_address(pod);
    if (address.empty() || yes(pod.facts->host_network)) continue;
    pods[address].push_back(pod.plan.name);
  }
  for (const auto& [address, names] : pods) {
    if (names.size() < 2) continue;
    const bool nat = is_of_each_machine(address);
    report(
        job, nullptr,
        {nat ? Severity::kError : Severity::kInfo, "same_address",
         names[0] + " and " + names[1] + " both have the address " + address +
             (nat ? ", of a network that every machine has for itself: they "
                    "do not reach each other"
                  : ": if they are on different nodes, they do not reach "
                    "each other"),
         "NVIDIA/nccl#929",
         "run them on the hosts' network, or on a network with an address "
         "for each"});
  }
}

}  // namespace

void check_interfaces(FabricJob& job) {
  check_same_address(job);
  for (const FabricPodState& pod : job.pods) {
    check_loopback(job, pod);
    check_subnets(job, pod);
  }
}

}  // namespace muster
