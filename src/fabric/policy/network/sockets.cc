// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/sockets.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/name_list.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

constexpr size_t kMaxInterfaces = 16;  // NCCL's MAX_IFS

bool starts_with_any(std::string_view name,
                     std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto prefix) { return name.starts_with(prefix); });
}

bool is_bridge(const FabricNetdev& netdev) {
  if (netdev.kind == "bridge" || is_tunnel(netdev)) return true;
  return starts_with_any(
      netdev.name, {"docker", "cni",     "virbr",        "veth",    "cali",
                    "br-",    "lxc",     "kube-",        "cilium",  "ovn-",
                    "lxdbr",  "incusbr", "podman",       "nerdctl", "cbr0",
                    "weave",  "antrea",  "nodelocaldns", "dummy",   "vmnet"});
}

bool is_loopback_address(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("::1/") ||
         address == "::1";
}

// An address of the family as NCCL's findInterfaces accepts it: any but IPv6
// loopback.
bool has_address(const FabricNetdev& netdev, bool ipv6) {
  return std::any_of(netdev.addresses.begin(), netdev.addresses.end(),
                     [&](auto& address) {
                       return bare_address(address) != "::1" &&
                              (address.find(':') != address.npos) == ipv6;
                     });
}

}  // namespace

bool is_tunnel(const FabricNetdev& netdev) {
  for (const char* kind : {"tunnel", "vxlan", "geneve", "wireguard"}) {
    if (netdev.kind == kind) return true;
  }
  return starts_with_any(
      netdev.name, {"flannel", "tunl", "wg", "vxlan", "genev", "tailscale",
                    "zt", "tun", "tap", "sit", "gre", "ip6tnl"});
}

std::string bare_address(const std::string& address) {
  return address.substr(0, address.find('/'));
}

std::string network_of(const std::string& address) {
  const size_t slash = address.find('/');
  if (slash == std::string::npos) return "";
  const auto bits = parse_integer(address.substr(slash + 1));
  FabricGid gid;
  gid.gid = address.substr(0, slash);
  if (!bits || *bits < 0 || *bits > 32) return "";
  return gid_network(gid, static_cast<int>(*bits));
}

const FabricNetdev* find_netdev(const PodFabric& pod, const std::string& name) {
  if (!pod.netdevs) return nullptr;
  for (const FabricNetdev& netdev : *pod.netdevs) {
    if (netdev.name == name) return &netdev;
  }
  return nullptr;
}

std::string port_netdev(const PodFabric& pod, const FabricPort& port) {
  if (!port.netdev.empty() || !port.gids || !pod.netdevs) return port.netdev;
  for (const FabricGid& gid : *port.gids) {
    if (find_netdev(pod, gid.netdev) != nullptr) return gid.netdev;
  }
  for (const FabricGid& gid : *port.gids) {
    if (gid_address(gid) != GidAddress::kIpv4) continue;
    for (const FabricNetdev& netdev : *pod.netdevs) {
      for (const std::string& address : netdev.addresses) {
        if (bare_address(address) == gid_text(gid)) return netdev.name;
      }
    }
  }
  return "";
}

NetdevClass netdev_class(const FabricNetdev& netdev) {
  if (netdev.name == "lo") return NetdevClass::kLoopback;
  if (no(netdev.up) || no(netdev.running)) return NetdevClass::kDown;
  bool loopback_only = true;
  bool link_local_only = true;
  for (const std::string& address : netdev.addresses) {
    FabricGid gid;
    gid.gid = bare_address(address);
    if (is_loopback_address(address)) continue;
    loopback_only = false;
    if (gid_address(gid) != GidAddress::kLinkLocal) link_local_only = false;
  }
  if (netdev.addresses.empty()) return NetdevClass::kNoAddress;
  if (loopback_only) return NetdevClass::kLoopback;
  if (link_local_only) return NetdevClass::kLinkLocal;
  // An OVS or Linux bridge, or a container's veth, with the default route is
  // the pod's way to the others.
  const bool decoy = is_bridge(netdev) && !yes(netdev.default_route);
  return decoy ? NetdevClass::kBridge : NetdevClass::kUsable;
}

std::string_view netdev_class_name(NetdevClass kind) {
  switch (kind) {
    case NetdevClass::kLoopback:
      return "loopback";
    case NetdevClass::kDown:
      return "down";
    case NetdevClass::kNoAddress:
      return "no address";
    case NetdevClass::kLinkLocal:
      return "link-local only";
    case NetdevClass::kBridge:
      return "bridge or tunnel";
    case NetdevClass::kUsable:
      return "usable";
  }
  return "";
}

PrimaryInterface primary_interface(const PodFabric& pod) {
  if (!pod.netdevs) return {};
  const FabricNetdev* routed = nullptr;
  const FabricNetdev* only = nullptr;
  int usable = 0;
  for (const FabricNetdev& netdev : *pod.netdevs) {
    for (const std::string& address : netdev.addresses) {
      if (!pod.peer_address.empty() &&
          bare_address(address) == bare_address(pod.peer_address)) {
        return {netdev.name, "it holds " + bare_address(address) +
                                 ", the address that the peers use"};
      }
    }
    if (netdev_class(netdev) != NetdevClass::kUsable) continue;
    ++usable;
    only = &netdev;
    if (yes(netdev.default_route) && routed == nullptr) routed = &netdev;
  }
  if (routed != nullptr) return {routed->name, "it has the default route"};
  if (usable == 1) return {only->name, "no other interface is usable"};
  // The pod network's interface is eth0 by convention of every CNI.
  for (const FabricNetdev& netdev : *pod.netdevs) {
    if (netdev.name == "eth0" && netdev_class(netdev) == NetdevClass::kUsable) {
      return {"eth0", "a pod's own network is eth0 by convention", true};
    }
  }
  return {};
}

std::vector<std::string> nccl_interfaces(const PodFabric& pod,
                                         const NcclVersion& version,
                                         const std::string& ifname) {
  std::vector<std::string> out;
  if (!pod.netdevs) return out;
  const bool running_only = version >= kRunningOnly;
  const auto family = effective(pod, "NCCL_SOCKET_FAMILY");
  const auto take_of = [&](bool ipv6, auto wanted) {
    for (const FabricNetdev& netdev : *pod.netdevs) {
      const bool down = no(netdev.up) || (running_only && no(netdev.running));
      if (down || !has_address(netdev, ipv6) || !wanted(netdev.name)) continue;
      const bool known =
          std::find(out.begin(), out.end(), netdev.name) != out.end();
      if (!known && out.size() < kMaxInterfaces) out.push_back(netdev.name);
    }
  };
  // getifaddrs() lists the IPv4 addresses of all interfaces first.
  const auto take = [&](auto wanted) {
    if (!family || trim(family->value) != "AF_INET6") take_of(false, wanted);
    if (!family || trim(family->value) != "AF_INET") take_of(true, wanted);
    return !out.empty();
  };
  if (!ifname.empty()) {
    const NameList list = parse_name_list(ifname);
    take([&](auto& name) { return admits(list, name); });
    return out;
  }
  if (take([](auto& name) { return name.starts_with("ib"); })) return out;
  const auto ordinary = [&](const std::string& name) {
    return !starts_with_any(name, {"docker", "lo"}) &&
           !(running_only && name.starts_with("virbr"));
  };
  if (take(ordinary)) return out;
  for (const char* last : {"docker", "lo", "virbr"}) {
    if (take([&](auto& name) { return name.starts_with(last); })) return out;
  }
  return out;
}

}  // namespace muster
