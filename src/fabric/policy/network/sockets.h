// SPDX-License-Identifier: Apache-2.0
// Interfaces for TCP: the one that the peers use, and those that NCCL takes in
// its own order (ib*, then all except docker*/lo/virbr*, then docker*, lo,
// virbr*). Source: NCCL src/misc/socket.cc. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/facts/facts.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

enum class NetdevClass {
  kLoopback,
  kDown,
  kNoAddress,
  kLinkLocal,
  kBridge,  // docker0, cni0, virbr0, veth…: addresses of no other machine
  kUsable,
};

NetdevClass netdev_class(const FabricNetdev& netdev);
// The interface wraps its packets into those of another interface.
bool is_tunnel(const FabricNetdev& netdev);
std::string_view netdev_class_name(NetdevClass kind);

struct PrimaryInterface {
  std::string name;  // empty: unknown
  std::string reason;
  bool by_name = false;  // only its name suggests it
};
// The interface holding the address that the peers use; else the usable one
// with the default route; else the only usable one.
PrimaryInterface primary_interface(const PodFabric& pod);

// In NCCL's order without NCCL_SOCKET_IFNAME (or with `ifname`): the first is
// for bootstrap, all of them for the Socket transport.
std::vector<std::string> nccl_interfaces(const PodFabric& pod,
                                         const NcclVersion& version,
                                         const std::string& ifname = {});

const FabricNetdev* find_netdev(const PodFabric& pod, const std::string& name);
// The interface of an adapter's port: as given, else the owner of its GIDs,
// else the one with the address of one; "" if none is known.
std::string port_netdev(const PodFabric& pod, const FabricPort& port);
// "10.1.2.3" of "10.1.2.3/24".
std::string bare_address(const std::string& address);
// "10.1.0.0/16" of "10.1.2.3/16"; "" without a length.
std::string network_of(const std::string& address);

}  // namespace muster
