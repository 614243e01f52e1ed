// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/gids.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "fabric/policy/network/sockets.h"

namespace muster {

namespace {

using Bytes = std::array<unsigned char, 16>;

std::optional<Bytes> address_bytes(const std::string& text) {
  Bytes bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes.fill(0);
  bytes[10] = bytes[11] = 0xff;
  if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

bool is_ipv4(const Bytes& b) {
  return std::all_of(b.begin(), b.begin() + 10, [](int x) { return x == 0; }) &&
         b[10] == 0xff && b[11] == 0xff;
}

void keep_bits(Bytes& bytes, int bits) {
  for (int i = 0; i < 16; ++i) {
    const int left = std::clamp(bits - i * 8, 0, 8);
    auto& byte = bytes[static_cast<size_t>(i)];
    byte = static_cast<unsigned char>(byte & (0xff00 >> left));
  }
}

// Adapters do not wrap RDMA into a tunnel's packets, and yet the tables hold
// the addresses of tunnels above their interfaces (openucx/ucx#9484).
bool interface_serves(const PodFabric& pod, const std::string& name) {
  if (name.empty() || !pod.netdevs) return true;
  const FabricNetdev* netdev = find_netdev(pod, name);
  return netdev != nullptr && !is_tunnel(*netdev);
}

const FabricGid* at_index(const FabricPort& port, int index) {
  if (!port.gids) return nullptr;
  for (const FabricGid& gid : *port.gids) {
    if (gid.index == index) return &gid;
  }
  return nullptr;
}

// The table has entries, each with its interface, and none at 0 and 1, where
// the adapter's own interface has its two. A facts file without interfaces may
// lack the link-local addresses too, but it has pairs at least.
bool foreign_below(const FabricPort& port) {
  const auto& gids = *port.gids;
  const auto all = [&](auto test) {
    return !gids.empty() && std::all_of(gids.begin(), gids.end(), test);
  };
  const auto any = [&](const char* type) {
    return std::any_of(gids.begin(), gids.end(),
                       [&](auto& gid) { return gid.type == type; });
  };
  const bool own_interfaces = all([](const FabricGid& gid) {
    return gid.index > 1 && !gid.netdev.empty() && !gid.type.empty();
  });
  const bool pairs = any("v1") && any("v2") && all([](const FabricGid& gid) {
                       return gid.index > 3 && !gid.type.empty();
                     });
  return own_interfaces || pairs;
}

// Whether NCCL's scan moves from `now` to `next`.
bool scan_moves(const FabricGid* now, const FabricGid& next, bool ipv6,
                const std::string& cidr) {
  const auto family6 = [](const FabricGid* gid) {
    return gid == nullptr || (gid_address(*gid) != GidAddress::kIpv4 &&
                              !is_ipv4_link_local(*gid));
  };
  const auto valid = [](const FabricGid* gid) {
    if (gid == nullptr) return false;
    const GidAddress kind = gid_address(*gid);
    return kind == GidAddress::kIpv4 || kind == GidAddress::kIpv6 ||
           is_ipv4_link_local(*gid);
  };
  const bool wanted =
      family6(&next) == ipv6 && (cidr.empty() || address_in(next.gid, cidr));
  if (!wanted) return false;
  if (family6(now) != family6(&next)) return true;
  if (!valid(&next)) return false;
  const std::string current_type = now == nullptr ? "" : now->type;
  return (current_type != next.type || !valid(now)) && next.type == "v2";
}

}  // namespace

GidAddress gid_address(const FabricGid& gid) {
  const auto bytes = address_bytes(gid.gid);
  if (!bytes) return GidAddress::kNone;
  const Bytes& b = *bytes;
  if (std::all_of(b.begin(), b.end(), [](int x) { return x == 0; })) {
    return GidAddress::kNone;
  }
  if (is_ipv4(b)) {
    const bool link_local = b[12] == 169 && b[13] == 254;
    return link_local ? GidAddress::kLinkLocal : GidAddress::kIpv4;
  }
  if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) {
    const bool empty =
        std::all_of(b.begin() + 8, b.end(), [](int x) { return x == 0; });
    return empty ? GidAddress::kNone : GidAddress::kLinkLocal;
  }
  return GidAddress::kIpv6;
}

bool is_ipv4_link_local(const FabricGid& gid) {
  const auto bytes = address_bytes(gid.gid);
  return bytes && is_ipv4(*bytes) && gid_address(gid) == GidAddress::kLinkLocal;
}

std::string gid_text(const FabricGid& gid) {
  const auto bytes = address_bytes(gid.gid);
  if (!bytes || !is_ipv4(*bytes)) return gid.gid;
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, bytes->data() + 12, text, sizeof text);
  return text;
}

bool address_in(const std::string& address, const std::string& cidr) {
  const auto parts = split(cidr, '/');
  const auto bits = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  auto network = address_bytes(std::string(parts[0]));
  auto own = address_bytes(address);
  if (!bits || !network || !own) return false;
  if (is_ipv4(*network) != is_ipv4(*own)) return false;
  const int length = static_cast<int>(std::clamp<int64_t>(*bits, 0, 128)) +
                     (is_ipv4(*network) ? 96 : 0);
  keep_bits(*network, length);
  keep_bits(*own, length);
  return *network == *own;
}

std::string gid_network(const FabricGid& gid, int bits) {
  auto bytes = address_bytes(gid.gid);
  if (!bytes || !is_ipv4(*bytes)) return "";
  keep_bits(*bytes, bits + 96);
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, bytes->data() + 12, text, sizeof text);
  return std::string(text) + "/" + std::to_string(bits);
}

std::vector<const FabricGid*> usable_gids(const PodFabric& pod,
                                          const FabricPort& port,
                                          GidAddress kind) {
  std::vector<const FabricGid*> out;
  if (!port.gids) return out;
  for (const FabricGid& gid : *port.gids) {
    if (no(gid.readable) || no(gid.usable) || gid.type == "v1") continue;
    if (gid_address(gid) != kind) continue;
    if (interface_serves(pod, gid.netdev)) out.push_back(&gid);
  }
  return out;
}

GidScan nccl_gid(const NcclVersion& version, const FabricPort& port, bool ipv6,
                 const std::string& cidr) {
  GidScan scan;
  scan.gid = at_index(port, 0);
  if (version < kGidScan || !port.gids) return scan;
  // As show_gids prints it in a pod: missing entries are not ours.
  if (foreign_below(port)) scan.aborts = version < kGidScanSafe;
  for (const FabricGid& next : *port.gids) {
    if (no(next.readable)) {
      if (version < kGidScanSafe) scan.aborts = true;
      continue;
    }
    if (next.index == 0) continue;
    if (scan_moves(scan.gid, next, ipv6, cidr)) {
      scan.index = next.index;
      scan.gid = &next;
    }
  }
  return scan;
}

}  // namespace muster
