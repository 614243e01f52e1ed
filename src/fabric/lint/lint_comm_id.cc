// SPDX-License-Identifier: Apache-2.0
// lint_comm_id(): NCCL_COMM_ID names the address at which ranks meet, and with
// it the bootstrap's interface: the first one of the address' subnet, whatever
// NCCL_SOCKET_IFNAME says; without one NCCL stops. Source: NCCL
// src/bootstrap.cc (bootstrapNetInit), src/os/linux.cc (matchSubnet), of which
// 2.29.2 to 2.30.2 take every IPv4 interface but the right ones
// (NVIDIA/nccl#2047). Pure.
#include <algorithm>

#include "fabric/facts/name_list.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

constexpr NcclVersion kInverted{2, 29, 2};
constexpr NcclVersion kRepaired{2, 30, 3};

// "10.0.0.1" of "10.0.0.1:2000", "fd00::1" of "[fd00::1]:2000", or a name; ""
// without a port.
std::string host_of(const std::string& value) {
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon + 1 == value.size()) return "";
  const std::string host = value.substr(0, colon);
  const bool ipv6 = host.starts_with('[') && host.ends_with(']');
  if (!ipv6 && host.find(':') != std::string::npos) return "";
  return ipv6 ? host.substr(1, host.size() - 2) : host;
}

bool has_lengths(const PodFabric& pod) {
  return pod.netdevs &&
         std::all_of(
             pod.netdevs->begin(), pod.netdevs->end(), [](const auto& netdev) {
               return std::all_of(netdev.addresses.begin(),
                                  netdev.addresses.end(), [](auto& text) {
                                    return text.find('/') != std::string::npos;
                                  });
             });
}

// The interface that NCCL takes for `address`; "": none is in its subnet.
std::string interface_for(const PodFabric& pod, const std::string& address) {
  for (const FabricNetdev& netdev : *pod.netdevs) {
    const bool meets = std::any_of(
        netdev.addresses.begin(), netdev.addresses.end(),
        [&](auto& network) { return address_in(address, network); });
    if (meets && !no(netdev.up)) return netdev.name;
  }
  return "";
}

void lint_inverted(FabricJob& job, FabricPodState& pod, bool ipv4) {
  // lo comes first, and its subnet is another one: the other pods wait there.
  const bool certain = ipv4 && job.pods.size() > 1;
  report(job, &pod,
         {certain ? Severity::kError : Severity::kWarning, "comm_id_bug",
          "NCCL " + pod.version->text() +
              " matches IPv4 subnets the wrong way round: NCCL_COMM_ID makes "
              "it choose a wrong interface",
          "NVIDIA/nccl#2047",
          "use NCCL 2.30.3, or rendezvous without NCCL_COMM_ID"});
}

void lint_interface(FabricJob& job, FabricPodState& pod,
                    const std::string& value, const std::string& address) {
  const auto error = [&](std::string text, std::string remedy) {
    report(job, &pod,
           {Severity::kError, "lint_comm_id",
            "NCCL_COMM_ID=" + value + std::move(text), "NCCL src/bootstrap.cc",
            std::move(remedy)});
  };
  const std::string taken = interface_for(*pod.facts, address);
  if (taken.empty()) {
    return error(
        ": no interface of this pod is in the subnet of the address, "
        "and NCCL stops (\"No usable listening interface found\")",
        "name an address of the pods' own network, or remove it");
  }
  if (taken == "lo" && job.pods.size() > 1) {
    return error(" is an address of lo, over which no other pod is reached",
                 "name the address of the first pod, or remove it");
  }
  const auto names = effective(*pod.facts, "NCCL_SOCKET_IFNAME");
  if (!names || admits(parse_name_list(names->value), taken)) return;
  lint_warn(job, pod, "lint_comm_id",
            "NCCL_COMM_ID=" + value + " makes the bootstrap use " + taken +
                ", and not what NCCL_SOCKET_IFNAME=" + names->value + " says",
            "give NCCL_COMM_ID an address in the network that is meant, or "
            "remove it");
}

}  // namespace

void lint_comm_id(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const EffectiveValue& users) {
  if (name != "NCCL_COMM_ID") return;
  const std::string address = host_of(users.value);
  if (address.empty()) {
    report(
        job, &pod,
        {Severity::kError, "lint_comm_id",
         "NCCL_COMM_ID=" + users.value + " is no ADDRESS:PORT, and NCCL stops",
         "NCCL src/misc/socket.cc",
         "write 10.0.0.1:2000, [fd00::1]:2000 or a name with a port"});
    return;
  }
  if (pod.version && *pod.version >= kInverted && *pod.version < kRepaired) {
    return lint_inverted(job, pod, !network_of(address + "/32").empty());
  }
  FabricGid gid;
  gid.gid = address;
  if (gid_address(gid) == GidAddress::kNone) return;  // a name
  if (has_lengths(*pod.facts)) lint_interface(job, pod, users.value, address);
}

}  // namespace muster
