// SPDX-License-Identifier: Apache-2.0
// Every adapter port of a pod with its use: kind of network, seen by NCCL or
// not, usable or not and why. Then the compute set of RoCE ports: those for
// training data, without the node's front end. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/facts/facts.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

// The role of a port that the user named and that has no routable address.
inline constexpr std::string_view kUnaddressed = "unaddressed";

enum class LinkKind { kUnknown, kInfiniBand, kRoce, kEfa, kSlingshot };

std::string_view link_kind_name(LinkKind kind);

struct PortView {
  const FabricHca* hca = nullptr;
  const FabricPort* port = nullptr;
  LinkKind kind = LinkKind::kUnknown;
  bool nccl_sees = false;  // NCCL's own filter lets it through
  bool usable = false;     // RDMA traffic can work with it
  bool chosen = false;     // in the set that the job should use
  std::string role;        // one word for people
  std::string reason;

  // "mlx5_0", or "mlx5_0:2" if the adapter has several ports.
  [[nodiscard]] std::string name() const;
};

// RDMA made by the kernel over an ordinary interface: Soft-RoCE.
// Words that link_kind() and the ports' states know.
bool is_link_layer(const std::string& word);
bool is_port_state(const std::string& word);
bool is_software(const FabricHca& hca);
// nullptr: the pod has none of that name, or none is known.
const FabricHca* find_hca(const PodFabric& pod, std::string_view name);

LinkKind link_kind(const FabricHca& hca, const FabricPort& port);
// `version`: of NCCL, if known.
std::vector<PortView> view_ports(
    const PodFabric& pod, const std::optional<NcclVersion>& version = {});

// Chooses among the usable ports of `kind`: takes all, then drops the front end
// of RoCE machines (by the pod's interfaces, GIDs, rates, GPUs) unless no port,
// or no port near some GPU, would remain.
void choose_ports(const PodFabric& pod, LinkKind kind,
                  std::vector<PortView>& ports);

// Sum of the usable (or chosen) ports' rates in Gb/s; unknown rates count 0.
double total_rate(const std::vector<PortView>& ports, LinkKind kind);
// "400 Gb/s".
std::string gbps_text(double rate);
// Every GPU whose distances are known has a near port of this kind.
bool near_every_gpu(const PodFabric& pod, const std::vector<PortView>& ports,
                    LinkKind kind);
// All GPU-adapter distances are known and none is near: a VM's flat topology.
bool flat_topology(const PodFabric& pod, const std::vector<PortView>& ports);

}  // namespace muster
