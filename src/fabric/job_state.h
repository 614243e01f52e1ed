// SPDX-License-Identifier: Apache-2.0
// The planner's working table: one row per pod with what was concluded so far.
// Internal to the policy; its steps run in the order of plan_fabric() and each
// only reads what earlier steps wrote.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/platform.h"
#include "fabric/policy.h"
#include "fabric/ports.h"
#include "fabric/sockets.h"

namespace muster {

enum class Transport {
  kUnknown,
  kTcp,
  kInfiniBand,
  kRoce,
  kEfa,
  kSlingshot,
  kTcpx,  // GPUDirect over TCP on GCP: no verbs, not plain TCP
};

std::string_view transport_name(Transport transport);

struct PodState {
  const PodFabric* facts = nullptr;
  std::optional<NcclVersion> version;
  std::vector<PortView> ports;
  Platform platform = Platform::kNone;
  PrimaryInterface primary;
  std::set<Transport> offers;  // RDMA-like ways that work in this pod
  bool unknown = false;        // nobody looked for adapters
  bool tcp_by_user = false;    // the user's own variables rule RDMA out
  std::string absent;          // why there is no RDMA; empty: there is
  std::string list_reason;     // why NCCL_IB_HCA is needed; empty: it is not
  PodPlan plan;

  // The version to reason with: what is known, else the newest.
  [[nodiscard]] NcclVersion assumed_version() const {
    return version.value_or(NcclVersion{2, 30, 7});
  }
};

struct Job {
  explicit Job(const FabricRequest& asked) : request(asked) {}

  const FabricRequest& request;
  Profile profile = Profile::kAuto;  // strictest of all apps
  Transport transport = Transport::kUnknown;
  std::vector<PodState> pods;
  std::vector<std::string> mpirun_args;
  struct Seen {
    Finding finding;
    std::vector<std::string> pods;
  };
  std::vector<Seen> findings;
};

// Adds a finding; equal ones of several pods become one that names them.
void report(Job& job, const PodState* pod, Finding finding);
// Sets a variable unless the user already has one: then the user's stays and
// a difference is reported. The first proposal of a name wins.
void propose(Job& job, PodState& pod, FabricSetting setting);

// Steps, in order. See the .cc of each.
void choose_transport(Job& job);   // transport.cc
void explain_absence(Job& job);    // absent.cc
void choose_gids(Job& job);        // gid_settings.cc: may drop ports
void agree_rails(Job& job);        // rails.cc: may drop ports
void set_site_values(Job& job);    // site_settings.cc
void set_vendor_values(Job& job);  // vendor_settings.cc
void set_profile(Job& job);        // profile_settings.cc
void set_transport(Job& job);      // transport_settings.cc
void set_gids(Job& job);           // gid_settings.cc
void set_sockets(Job& job);        // socket_settings.cc
void set_gpu(Job& job);            // gpu_settings.cc
void set_mpi(Job& job);            // mpi_settings.cc
void check_agreement(Job& job);    // agreement.cc
void lint_users_values(Job& job);  // lint.cc

}  // namespace muster
