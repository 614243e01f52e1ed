// SPDX-License-Identifier: Apache-2.0
// One address in several pods: of networks that each machine makes for itself,
// of a CNI's plugin that counts on each node by itself (host-local), or written
// once for all. Pods on one node's network share theirs. Only reports. Sources:
// NVIDIA/nccl#929, k8snetworkplumbingwg/sriov-network-device-plugin #338 and
// multus-cni#640. Pure.
#include <algorithm>
#include <map>
#include <optional>

#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

using Pods = std::vector<const FabricPodState*>;

// The address by which the peers would know the pod; "" if unknown.
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
  return address_in(address, "172.17.0.0/16") || address == "10.0.2.15";
}

struct Clash {
  const FabricPodState* one;
  const FabricPodState* other;
  bool apart;  // on different nodes, for certain
};

// None if all are on one node.
std::optional<Clash> clash(const Pods& pods) {
  const std::string* node = nullptr;
  bool all_placed = true;
  const FabricPodState* placed = nullptr;
  for (const FabricPodState* pod : pods) {
    const std::string& own = pod->facts->node;
    all_placed = all_placed && !own.empty();
    if (own.empty()) continue;
    if (node != nullptr && *node != own) return Clash{placed, pod, true};
    node = &own;
    placed = pod;
  }
  if (all_placed || pods.size() < 2) return std::nullopt;
  return Clash{pods[0], pods[1], false};
}

std::string both_have(const Clash& two, const std::string& what) {
  return two.one->plan.name + " and " + two.other->plan.name + " both have " +
         what;
}

void report_address(FabricJob& job, const std::string& address,
                    const Clash& two) {
  const bool nat = is_of_each_machine(address);
  report(job, nullptr,
         {nat || two.apart ? Severity::kError : Severity::kInfo, "same_address",
          both_have(two, "the address " + address) +
              (nat         ? ", of a network that every machine has for "
                             "itself: they do not reach each other"
               : two.apart ? " on different nodes: they do not reach each other"
                           : ": if they are on different nodes, they do not "
                             "reach each other"),
          "NVIDIA/nccl#929",
          "run them on the hosts' network, or on a network with an address "
          "for each"});
}

void check_sockets(FabricJob& job) {
  std::map<std::string, Pods> pods;
  for (const FabricPodState& pod : job.pods) {
    const std::string address = own_address(pod);
    if (address.empty() || yes(pod.facts->host_network)) continue;
    pods[address].push_back(&pod);
  }
  for (const auto& [address, owners] : pods) {
    if (const auto two = clash(owners)) report_address(job, address, *two);
  }
}

// "10.1.0.5 of mlx5_0 (net1)" by the address; of the ports that the job uses.
std::map<std::string, std::string> adapter_addresses(
    const FabricPodState& pod) {
  std::map<std::string, std::string> out;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    const std::string netdev = port_netdev(*pod.facts, *view.port);
    const std::string where =
        " of " + view.name() + (netdev.empty() ? "" : " (" + netdev + ")");
    const FabricNetdev* own = find_netdev(*pod.facts, netdev);
    if (!view.port->gids && own != nullptr) {
      for (const std::string& text : own->addresses) {
        const std::string address = bare_address(text);
        if (address.find(':') == std::string::npos) {
          out.emplace(address, address + where);
        }
      }
    }
    for (const GidAddress kind : {GidAddress::kIpv4, GidAddress::kIpv6}) {
      for (const FabricGid* gid : usable_gids(*pod.facts, *view.port, kind)) {
        out.emplace(gid_text(*gid), gid_text(*gid) + where);
      }
    }
  }
  return out;
}

void report_adapters(FabricJob& job, const std::string& what,
                     const Clash& two) {
  report(job, nullptr,
         {two.apart ? Severity::kError : Severity::kInfo, "same_rdma_address",
          both_have(two, what) +
              (two.apart ? " on different nodes: RDMA does not connect them"
                         : ": if they are on different nodes, RDMA does not "
                           "connect them"),
          "k8snetworkplumbingwg/sriov-network-device-plugin#338",
          "addresses from an IPAM for the whole cluster (whereabouts), not "
          "from host-local, which counts on each node by itself"});
}

// Pods on one node's network have its adapters, and their addresses, in common.
bool share_adapters(const Pods& pods) {
  return std::all_of(pods.begin(), pods.end(),
                     [](auto* pod) { return yes(pod->facts->host_network); });
}

void check_adapters(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce) return;
  std::map<std::string, Pods> pods;
  std::map<std::string, std::string> texts;
  for (const FabricPodState& pod : job.pods) {
    for (const auto& [address, text] : adapter_addresses(pod)) {
      texts.emplace(address, text);
      pods[address].push_back(&pod);
    }
  }
  bool doubted = false;  // one remark for all written alike
  for (const auto& [address, owners] : pods) {
    const auto two = clash(owners);
    if (!two || (!two->apart && (doubted || share_adapters(owners)))) continue;
    doubted = doubted || !two->apart;
    report_adapters(job, texts[address], *two);
  }
}

}  // namespace

void check_same_address(FabricJob& job) {
  check_sockets(job);
  check_adapters(job);
}

}  // namespace muster
