// SPDX-License-Identifier: Apache-2.0
// The planner's working table: one row per pod with the conclusions so far.
// Internal to the policy; its steps run in the order of plan_fabric() and each
// only reads the results of earlier steps.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/facts/gpu_names.h"
#include "fabric/policy/network/platform.h"
#include "fabric/policy/network/ports.h"
#include "fabric/policy/network/sockets.h"
#include "fabric/policy/policy.h"

namespace muster {

enum class FabricTransport {
  kUnknown,
  kTcp,
  kInfiniBand,
  kRoce,
  kEfa,
  kSlingshot,
  kTcpx,  // GPUDirect over TCP on GCP: no verbs, not plain TCP
};

std::string_view transport_name(FabricTransport transport);

struct FabricPodState {
  const PodFabric* facts = nullptr;
  std::optional<NcclVersion> version;
  std::vector<PortView> ports;
  Platform platform = Platform::kNone;
  PrimaryInterface primary;
  PrimaryInterface mpi_interface;
  std::set<FabricTransport> offers;  // RDMA-like ways that work in this pod
  bool unknown = false;              // the facts lack adapters
  bool by_shape = false;             // its offers come from the machine's name
  bool tcp_by_user = false;          // the user's own variables rule RDMA out
  std::string ruled_out_by;          // which of them
  std::string absent;                // why there is no RDMA; empty: it has RDMA
  bool on_loopback = false;          // the peers' address is on lo
  std::string list_reason;  // why NCCL_IB_HCA is needed; empty: not needed
  PodPlan plan;

  // No GPU for NCCL or RCCL and neither of them in the pod: only MPI uses its
  // network, or libraries that the policy does not know (oneCCL, HCCL).
  [[nodiscard]] bool mpi_only() const {
    return facts->gpus && !version &&
           (facts->gpus->empty() || has_intel_gpus(*facts));
  }
  // The version to reason with: the known one, else the newest.
  [[nodiscard]] NcclVersion assumed_version() const {
    return version.value_or(NcclVersion{2, 30, 7});
  }
};

struct FabricJob {
  explicit FabricJob(const FabricRequest& asked) : request(asked) {}

  const FabricRequest& request;
  Profile profile = Profile::kAuto;  // strictest of all apps
  FabricTransport transport = FabricTransport::kUnknown;
  std::string transport_reason;
  std::vector<std::string> transport_rejected;
  std::vector<FabricPodState> pods;
  std::vector<std::string> mpirun_args;
  // There are also pods without GPU and adapter, which only MPI reaches.
  bool mpi_on_tcp = false;
  // NCCL's own InfiniBand code, or a plugin for libfabric, moves the data.
  [[nodiscard]] bool uses_verbs() const {
    return transport == FabricTransport::kInfiniBand ||
           transport == FabricTransport::kRoce;
  }
  [[nodiscard]] bool uses_libfabric() const {
    return transport == FabricTransport::kEfa ||
           transport == FabricTransport::kSlingshot;
  }
  // No pod has a GPU or NCCL.
  [[nodiscard]] bool mpi_only() const {
    return std::all_of(pods.begin(), pods.end(),
                       [](auto& pod) { return pod.mpi_only(); });
  }
  struct Seen {
    Finding finding;
    std::vector<std::string> pods;
  };
  std::vector<Seen> findings;
};

// Adds a finding; equal ones of several pods become one that names them.
void report(FabricJob& job, const FabricPodState* pod, Finding finding);
// Sets a variable unless the user already has one: then the user's stays and a
// finding reports a difference. The first proposal of a name wins.
void propose(FabricJob& job, FabricPodState& pod, FabricSetting setting);

// "rl", "rl (grpo)" as written, or "rl of rollout", an application.
std::string profile_said(const FabricJob& job);

// The evidence that takes this pod to TCP: in it, or in another pod.
std::string seen_for_tcp(const FabricJob& job, const FabricPodState& pod);

// Whether one of its adapters' ports has this interface.
bool is_rail(const FabricPodState& pod, const std::string& netdev);

// "10.1.0.0/24": the network of a port's interface; "" if unknown.
std::string port_subnet(const FabricPodState& pod, const PortView& view);
// Of all ports that the job uses; empty if one of them is unknown.
std::set<std::string> chosen_subnets(const FabricPodState& pod);

// NCCL's own choice of interface or the user's, all of them or the first, is in
// networks in which every pod has an address of its own: common_network.cc.
bool interfaces_meet(const FabricJob& job, bool all, bool users = false);

// Cables between every two pods, each a subnet of its own: direct_links.cc.
bool linked_by_cables(const FabricJob& job);

// A pod's part of the plan, from its row. finish_plan.cc, as the next two.
void finish_pod(const FabricJob& job, FabricPodState& pod);
// "worker-0, worker-1 and 2 more: ", of `all` pods; empty for a single pod.
std::string pods_said(const std::vector<std::string>& pods, size_t all);
FabricPlan finish_plan(FabricJob& job);

// Steps, in order. See the .cc of each: set_* in settings/, check_* in checks/,
// those that only find out in network/.
void find_common_network(FabricJob& job);  // common_network.cc
void choose_transport(FabricJob& job);     // transport.cc
void explain_absence(FabricJob& job);      // absent.cc
void explain_transport(FabricJob& job);    // transport_reasons.cc
void choose_gids(FabricJob& job);          // gid_settings.cc: may drop ports
void agree_rails(FabricJob& job);          // rails.cc: may drop ports
void set_direct_links(FabricJob& job);     // direct_links.cc
void set_site_values(FabricJob& job);      // site_settings.cc
void equalise(FabricJob& job);             // equal_settings.cc
void set_vendor_values(FabricJob& job);    // vendor_settings.cc
void set_tcpx(FabricJob& job);             // tcpx_settings.cc
void set_profile(FabricJob& job);          // profile_settings.cc
void set_transport(FabricJob& job);        // transport_settings.cc
void set_gids(FabricJob& job);             // gid_settings.cc
void set_ucx_gids(FabricJob& job);         // ucx_gids.cc
void check_ports(FabricJob& job);          // port_checks.cc
void set_pkeys(FabricJob& job);            // pkey_settings.cc
void set_sockets(FabricJob& job);          // socket_settings.cc
void check_same_address(FabricJob& job);   // same_address.cc
void check_interfaces(FabricJob& job);     // interface_checks.cc
void set_gpu(FabricJob& job);              // gpu_settings.cc
void check_gpus(FabricJob& job);           // gpu_checks.cc
void check_gpu_health(FabricJob& job);     // gpu_health.cc
void check_gpu_fabric(FabricJob& job);     // gpu_fabric.cc
void check_providers(FabricJob& job);      // libfabric.cc
void check_ofi_plugin(FabricJob& job);     // ofi_plugin.cc
void set_ucx_reach(FabricJob& job);        // ucx_reach.cc
void set_mpi(FabricJob& job);              // mpi_settings.cc
void set_psm(FabricJob& job);              // psm_settings.cc
void set_oneccl(FabricJob& job);           // oneccl_settings.cc
void check_agreement(FabricJob& job);      // agreement.cc
void lint_users_values(FabricJob& job);    // lint.cc

}  // namespace muster
