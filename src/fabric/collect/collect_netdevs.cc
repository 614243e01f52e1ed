// SPDX-License-Identifier: Apache-2.0
// Network interfaces from /sys/class/net and /proc/net. Addresses of
// a recorded directory come from the tables in /proc, those of the running
// system from the kernel.
#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

struct Route {
  std::string interface;
  uint32_t network = 0;  // host order
  uint32_t mask = 0;
};

std::optional<uint32_t> hex_word(std::string_view text) {
  uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return ntohl(value);
}

std::vector<Route> read_routes(const std::string& root) {
  std::vector<Route> out;
  const SysText file = read_sys(root + "/proc/net/route");
  for (const auto line : split(file.text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 8) continue;
    const auto network = hex_word(words[1]);
    const auto mask = hex_word(words[7]);
    if (!network || !mask) continue;
    out.push_back({std::string(words[0]), *network, *mask});
  }
  return out;
}

// Local IPv4 addresses: a "|-- ADDRESS" line before "/32 host LOCAL".
std::vector<uint32_t> local_ipv4(const std::string& root) {
  std::vector<uint32_t> out;
  std::string last;
  const SysText file = read_sys(root + "/proc/net/fib_trie");
  for (const auto line : split(file.text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == "|--") last = words[1];
    const bool local = words.size() >= 3 && words[0] == "/32" &&
                       words[1] == "host" && words[2] == "LOCAL";
    in_addr address{};
    if (!local || ::inet_pton(AF_INET, last.c_str(), &address) != 1) continue;
    const uint32_t value = ntohl(address.s_addr);
    if (std::find(out.begin(), out.end(), value) == out.end()) {
      out.push_back(value);
    }
  }
  return out;
}

std::string ipv4_text(uint32_t address, uint32_t mask) {
  const in_addr raw{htonl(address)};
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &raw, text, sizeof text);
  return std::string(text) + "/" + std::to_string(__builtin_popcount(mask));
}

// Each local address belongs to the interface with the narrowest route to it.
void add_ipv4(const std::string& root, const std::vector<Route>& routes,
              InterfaceAddresses& out) {
  for (const uint32_t address : local_ipv4(root)) {
    if (address >> 24 == 127) {
      out["lo"].push_back(ipv4_text(address, 0xff000000));
      continue;
    }
    const Route* best = nullptr;
    for (const Route& route : routes) {
      const bool inside =
          route.mask != 0 && (address & route.mask) == route.network;
      if (inside && (best == nullptr || route.mask > best->mask)) {
        best = &route;
      }
    }
    if (best != nullptr) {
      out[best->interface].push_back(ipv4_text(address, best->mask));
    }
  }
}

void add_ipv6(const std::string& root, InterfaceAddresses& out) {
  const SysText file = read_sys(root + "/proc/net/if_inet6");
  for (const auto line : split(file.text, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 6 || words[0].size() != 32) continue;
    std::string text;
    for (size_t i = 0; i < 32; i += 4) {
      if (i > 0) text += ':';
      text += words[0].substr(i, 4);
    }
    in6_addr address{};
    if (::inet_pton(AF_INET6, text.c_str(), &address) != 1) continue;
    char short_text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &address, short_text, sizeof short_text);
    unsigned bits = 0;
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), bits,
                    16);
    out[std::string(words[5])].push_back(std::string(short_text) + "/" +
                                         std::to_string(std::min(bits, 128u)));
  }
}

InterfaceAddresses addresses_of(const std::string& root,
                                const std::vector<Route>& routes) {
  if (root.empty()) {
    if (auto live = live_addresses()) return std::move(*live);
  }
  InterfaceAddresses out;
  add_ipv4(root, routes, out);
  add_ipv6(root, out);
  return out;
}

std::string kind_of(const std::string& path) {
  if (sys_exists(path + "/bridge")) return "bridge";
  if (sys_exists(path + "/tun_flags")) return "tunnel";
  const auto type = read_sys_number(path + "/type");
  if (type && *type == 32) return "ipoib";
  if (type && (*type == 768 || *type == 778)) return "tunnel";
  const std::string uevent = read_sys(path + "/uevent").text;
  for (const auto line : split(uevent, '\n')) {
    if (line.starts_with("DEVTYPE=")) return std::string(line.substr(8));
  }
  return "";
}

FabricNetdev read_netdev(const std::string& path, const std::string& name) {
  FabricNetdev netdev;
  netdev.name = name;
  if (const auto flags = read_sys_number(path + "/flags")) {
    netdev.up = (*flags & 1) != 0;
  }
  const std::string state = read_sys(path + "/operstate").text;
  if (state == "up" || state == "unknown") netdev.running = true;
  if (state == "down" || state == "lowerlayerdown") netdev.running = false;
  if (const auto mtu = read_sys_number(path + "/mtu"); mtu && *mtu < 1 << 20) {
    netdev.mtu = static_cast<int>(*mtu);
  }
  // Virtual interfaces answer -1 or EINVAL.
  if (const auto speed = read_sys_number(path + "/speed");
      speed && *speed > 0 && *speed < INT32_MAX) {
    netdev.speed_mbps = *speed;
  }
  netdev.driver = link_name(path + "/device/driver");
  netdev.pci = link_name(path + "/device");
  netdev.kind = kind_of(path);
  return netdev;
}

}  // namespace

void collect_netdevs(const std::string& root, PodFabric& pod) {
  const std::string base = root + "/sys/class/net";
  const auto names = list_sys(base);
  if (!names) return;
  const auto routes = read_routes(root);
  auto addresses = addresses_of(root, routes);
  std::vector<std::pair<int64_t, FabricNetdev>> found;
  for (const std::string& name : *names) {
    if (name == "bonding_masters") continue;
    FabricNetdev netdev = read_netdev(base + "/" + name, name);
    netdev.addresses = addresses[name];
    netdev.default_route =
        std::any_of(routes.begin(), routes.end(), [&](const Route& route) {
          return route.interface == name && route.network == 0 &&
                 route.mask == 0;
        });
    const auto index = read_sys_number(base + "/" + name + "/ifindex");
    found.emplace_back(index.value_or(INT32_MAX), std::move(netdev));
  }
  // The kernel's order, in which NCCL sees them.
  std::stable_sort(found.begin(), found.end(),
                   [](auto& a, auto& b) { return a.first < b.first; });
  pod.netdevs.emplace();
  for (auto& [index, netdev] : found) {
    pod.netdevs->push_back(std::move(netdev));
  }
}

}  // namespace muster
