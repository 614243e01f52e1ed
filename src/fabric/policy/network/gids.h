// SPDX-License-Identifier: Apache-2.0
// RoCE addresses of a port: the table entries that a pod can use, the one that
// NCCL of a version takes by itself, the best one. The scan repeats
// ncclIbGetGidIndex of NCCL 2.21 and later step by step. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/facts/facts.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

enum class GidAddress { kNone, kIpv4, kIpv6, kLinkLocal };

GidAddress gid_address(const FabricGid& gid);
// "10.1.2.3" of an IPv4-mapped GID; the text itself otherwise.
std::string gid_text(const FabricGid& gid);
// Whether an address, or a GID, lies in "10.1.0.0/16" or "fd02::/16".
bool address_in(const std::string& address, const std::string& cidr);
// The network of `bits` bits, "10.1.0.0/16"; "" for IPv6 and no address.
std::string gid_network(const FabricGid& gid, int bits);

// 169.254.x.y, which NCCL's scan takes like any other IPv4 address.
bool is_ipv4_link_local(const FabricGid& gid);

// RoCE v2, readable, not refused by a probe, its interface (if known) in this
// pod, and with an address of `kind`.
std::vector<const FabricGid*> usable_gids(const PodFabric& pod,
                                          const FabricPort& port,
                                          GidAddress kind);

struct GidScan {
  bool aborts = false;  // EINVAL ends communicator creation
  int index = 0;
  const FabricGid* gid = nullptr;  // null: that entry is not in the facts
};
// `ipv6`: NCCL_IB_ADDR_FAMILY=AF_INET6. `cidr`: NCCL_IB_ADDR_RANGE.
GidScan nccl_gid(const NcclVersion& version, const FabricPort& port,
                 bool ipv6 = false, const std::string& cidr = {});

}  // namespace muster
