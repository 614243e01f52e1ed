// SPDX-License-Identifier: Apache-2.0
// The order of the policy's steps, each of which is one file, and the pods that
// NCCL does not reach.
#include "fabric/policy/policy.h"

#include <algorithm>

#include "fabric/policy/checks/known_mistakes.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

// The strictest of the job's profiles: rl before rdma before tcp before auto.
Profile strictest(const FabricRequest& request) {
  Profile out = request.profile;
  for (const AppProfile& app : request.apps) {
    out = std::max(out, app.profile);
  }
  return out;
}

FabricPodState start(const PodFabric& facts, const FabricRequest& request) {
  FabricPodState state;
  state.facts = &facts;
  state.version = parse_nccl_version(
      request.nccl_version.empty() ? facts.nccl_version : request.nccl_version);
  state.platform = platform_of(facts);
  state.primary = primary_interface(facts);
  if (state.primary.name == "lo") {
    state.on_loopback = true;
    state.primary = {};
  }
  state.ports = view_ports(facts, state.version);
  state.plan.name = facts.name;
  return state;
}

using Pods = std::vector<const PodFabric*>;

FabricJob begin(const Pods& pods, const FabricRequest& request) {
  FabricJob job(request);
  job.profile = strictest(request);
  for (const PodFabric* pod : pods) job.pods.push_back(start(*pod, request));
  return job;
}

FabricPlan plan_together(const Pods& pods, const FabricRequest& request,
                         bool mpi_on_tcp) {
  FabricJob job = begin(pods, request);
  job.mpi_on_tcp = mpi_on_tcp;
  if (job.pods.empty()) return finish_plan(job);
  find_common_network(job);
  choose_transport(job);
  explain_absence(job);
  explain_transport(job);
  choose_gids(job);
  agree_rails(job);
  set_direct_links(job);
  set_site_values(job);
  set_profile(job);
  equalise(job);
  set_vendor_values(job);
  set_tcpx(job);
  set_transport(job);
  set_gids(job);
  set_ucx_gids(job);
  check_ports(job);
  set_pkeys(job);
  set_sockets(job);
  check_same_address(job);
  check_interfaces(job);
  set_gpu(job);
  check_gpus(job);
  check_gpu_health(job);
  check_gpu_fabric(job);
  check_providers(job);
  check_ofi_plugin(job);
  set_ucx_reach(job);
  set_mpi(job);
  set_psm(job);
  set_oneccl(job);
  check_known_mistakes(job);
  check_agreement(job);
  lint_users_values(job);
  return finish_plan(job);
}

// The launcher of an MPIJob whose facts hold only its name.
bool is_bare_launcher(const PodFabric& pod) {
  return pod.name.find("launcher") != std::string::npos && !pod.gpus &&
         pod.nccl_version.empty() && (!pod.hcas || pod.hcas->empty());
}

// A launcher that runs no ranks, processes without GPU: NCCL does not go there,
// so the pod's lacks do not take others to TCP. MPI may go there.
bool is_bystander(const PodFabric& pod, const FabricRequest& request) {
  return is_bare_launcher(pod) ||
         (start(pod, request).mpi_only() && pod.hcas && pod.hcas->empty());
}

void add_bystanders(FabricPlan& plan, const Pods& beside,
                    const FabricRequest& request) {
  FabricJob job = begin(beside, request);
  job.transport = FabricTransport::kTcp;
  job.mpi_on_tcp = true;
  set_profile(job);
  set_mpi(job);
  std::vector<std::string> names;
  for (FabricPodState& pod : job.pods) {
    finish_pod(job, pod);
    names.push_back(pod.plan.name);
    plan.pods.push_back(std::move(pod.plan));
  }
  plan.findings.push_back({Severity::kInfo, "no_gpu_pods",
                           pods_said(names, names.size() + 1) +
                               "no GPU and no adapter: NCCL does not go there, "
                               "and MPI stays on TCP "
                               "in all pods",
                           "", ""});
}

// Some pod has adapters in use, or would have without profile rl.
bool chooses_ports(const FabricPlan& plan) {
  return std::any_of(plan.pods.begin(), plan.pods.end(), [](auto& pod) {
    return std::any_of(pod.ports.begin(), pod.ports.end(),
                       [](auto& port) { return port.chosen; });
  });
}

}  // namespace

FabricPlan plan_fabric(const std::vector<PodFabric>& pods,
                       const FabricRequest& request) {
  Pods all;
  Pods working;
  Pods beside;
  std::vector<size_t> places;  // of those that work, then of those beside
  for (const bool late : {false, true}) {
    for (size_t i = 0; i < pods.size(); ++i) {
      if (!late) all.push_back(&pods[i]);
      if (is_bystander(pods[i], request) != late) continue;
      (late ? beside : working).push_back(&pods[i]);
      places.push_back(i);
    }
  }
  if (!beside.empty() && !working.empty()) {
    FabricPlan plan = plan_together(working, request, true);
    if (plan.transport != "TCP" || chooses_ports(plan)) {
      add_bystanders(plan, beside, request);
      std::vector<PodPlan> in_order(plan.pods.size());
      for (size_t i = 0; i < places.size(); ++i) {
        in_order[places[i]] = std::move(plan.pods[i]);
      }
      plan.pods = std::move(in_order);
      return plan;
    }
  }
  return plan_together(all, request, false);
}

}  // namespace muster
