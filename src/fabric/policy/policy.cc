// SPDX-License-Identifier: Apache-2.0
// The order of the policy's steps, and the verdict. Each step is one file.
#include "fabric/policy/policy.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/policy/checks/known_mistakes.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

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

// Profile rl switches NCCL's network off, where there is NCCL.
bool sends_by_tcp(const FabricJob& job) {
  return job.transport == FabricTransport::kTcp ||
         (job.profile == Profile::kRl && !job.mpi_only());
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

std::string alone(const FabricPodState& pod) {
  std::vector<std::string> names;
  for (const PortView& view : pod.ports) {
    if (view.nccl_sees) names.push_back(view.name());
  }
  const auto plugin = loaded_plugin(*pod.facts);
  std::string text = "NCCL " +
                     (pod.version ? pod.version->text() : "(version unknown)") +
                     ": ";
  if (plugin) {
    text += "plugin " + plugin->plugin->name + ", then ";
  }
  text += !pod.facts->hcas ? "the adapters are unknown"
          : names.empty()  ? "Socket"
                           : "IB on " + join(names, ", ");
  const auto sockets = nccl_interfaces(*pod.facts, pod.assumed_version());
  if (!sockets.empty()) text += "; bootstrap over " + sockets.front();
  return text;
}

// The interfaces that lost against the one of the plan.
std::vector<std::string> other_interfaces(const FabricPodState& pod) {
  std::vector<std::string> out;
  if (!pod.facts->netdevs || pod.plan.interface.empty()) return out;
  constexpr size_t kMost = 16;  // hosts have hundreds of veth
  for (const FabricNetdev& netdev : *pod.facts->netdevs) {
    if (netdev.name == pod.plan.interface || out.size() == kMost) continue;
    const NetdevClass kind = netdev_class(netdev);
    if (kind == NetdevClass::kLoopback) continue;
    out.push_back(netdev.name + ": " +
                  (kind == NetdevClass::kUsable
                       ? "nothing says that the peers are reached over it"
                       : std::string(netdev_class_name(kind))));
  }
  return out;
}

void finish_pod(const FabricJob& job, FabricPodState& pod) {
  pod.plan.interface_rejected = other_interfaces(pod);
  for (const PortView& view : pod.ports) {
    pod.plan.ports.push_back(
        {view.name(), std::string(link_kind_name(view.kind)),
         view.port->rate_gbps, view.chosen, view.role, view.reason});
  }
  pod.plan.transport =
      transport_name(sends_by_tcp(job) ? FabricTransport::kTcp : job.transport);
  pod.plan.alone = alone(pod);
}

std::string who(const std::vector<std::string>& pods, size_t all) {
  if (pods.empty() || all < 2) return "";
  if (pods.size() == all) return "all pods: ";
  std::string text = pods.front();
  if (pods.size() > 1) text += ", " + pods[1];
  if (pods.size() > 2) {
    text += " and " + std::to_string(pods.size() - 2) + " more";
  }
  return text + ": ";
}

bool any_with(const FabricPlan& plan, Severity severity) {
  return std::any_of(
      plan.findings.begin(), plan.findings.end(),
      [&](auto& finding) { return finding.severity == severity; });
}

FabricVerdict judge(const FabricJob& job, const FabricPlan& plan) {
  if (any_with(plan, Severity::kError)) return FabricVerdict::kRefuse;
  if (sends_by_tcp(job)) {
    return FabricVerdict::kTcp;
  }
  if (any_with(plan, Severity::kWarning)) return FabricVerdict::kWarn;
  const bool any_setting =
      std::any_of(plan.pods.begin(), plan.pods.end(),
                  [](auto& pod) { return !pod.settings.empty(); });
  return any_setting ? FabricVerdict::kSet : FabricVerdict::kLeave;
}

std::string summarize(const FabricJob& job, const FabricPlan& plan) {
  size_t settings = 0;
  for (const PodPlan& pod : plan.pods) {
    settings = std::max(settings, pod.settings.size());
  }
  std::string text = "fabric: " + plan.transport;
  if (!job.pods.empty()) {
    int ports = 0;
    for (const PortView& view : job.pods.front().ports) ports += view.chosen;
    if (ports > 0 && !sends_by_tcp(job)) {
      text += " with " + std::to_string(ports) +
              (ports == 1 ? " port per pod" : " ports per pod");
    }
  }
  text += ", profile " + plan.profile;
  if (settings == 0) return text + ", nothing to set";
  return text + ", " + std::to_string(settings) +
         (settings == 1 ? " variable set" : " variables set");
}

FabricPlan finish(FabricJob& job) {
  FabricPlan plan;
  plan.profile = job.request.profile == job.profile
                     ? profile_said(job)
                     : std::string(profile_name(job.profile));
  plan.transport =
      transport_name(sends_by_tcp(job) ? FabricTransport::kTcp : job.transport);
  plan.transport_reason = std::move(job.transport_reason);
  plan.transport_rejected = std::move(job.transport_rejected);
  for (FabricPodState& pod : job.pods) {
    finish_pod(job, pod);
    plan.pods.push_back(std::move(pod.plan));
  }
  for (FabricJob::Seen& seen : job.findings) {
    seen.finding.text = who(seen.pods, job.pods.size()) + seen.finding.text;
    plan.findings.push_back(std::move(seen.finding));
  }
  std::stable_sort(plan.findings.begin(), plan.findings.end(),
                   [](auto& a, auto& b) { return a.severity > b.severity; });
  plan.mpirun_args = std::move(job.mpirun_args);
  plan.verdict = judge(job, plan);
  plan.summary = summarize(job, plan);
  return plan;
}

}  // namespace

std::map<std::string, std::string> PodPlan::env() const {
  std::map<std::string, std::string> out;
  for (const FabricSetting& setting : settings) {
    out[setting.name] = setting.value;
  }
  return out;
}

std::string_view confidence_name(FabricConfidence confidence) {
  switch (confidence) {
    case FabricConfidence::kProven:
      return "proven";
    case FabricConfidence::kLikely:
      return "likely";
    case FabricConfidence::kGuess:
      return "guess";
  }
  return "";
}

std::string_view verdict_name(FabricVerdict verdict) {
  switch (verdict) {
    case FabricVerdict::kLeave:
      return "leave";
    case FabricVerdict::kSet:
      return "set";
    case FabricVerdict::kWarn:
      return "warn";
    case FabricVerdict::kTcp:
      return "tcp";
    case FabricVerdict::kRefuse:
      return "refuse";
  }
  return "";
}

namespace {

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
  if (job.pods.empty()) return finish(job);
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
  return finish(job);
}

// Of an MPIJob, of which nobody wrote down more than its name.
bool is_bare_launcher(const PodFabric& pod) {
  return pod.name.find("launcher") != std::string::npos && !pod.gpus &&
         pod.nccl_version.empty() && (!pod.hcas || pod.hcas->empty());
}

// A launcher that runs no ranks, processes without GPU: NCCL does not go there,
// so that what the pod lacks takes nobody to TCP. MPI may go there.
bool is_bystander(const PodFabric& pod, const FabricRequest& request) {
  return is_bare_launcher(pod) ||
         (start(pod, request).mpi_only() && pod.hcas && pod.hcas->empty());
}

void add_bystanders(FabricPlan& plan, const Pods& beside,
                    const FabricRequest& request) {
  FabricJob job = begin(beside, request);
  job.transport = FabricTransport::kTcp;
  job.mpi_on_tcp = true;
  set_mpi(job);
  std::vector<std::string> names;
  for (FabricPodState& pod : job.pods) {
    finish_pod(job, pod);
    names.push_back(pod.plan.name);
    plan.pods.push_back(std::move(pod.plan));
  }
  plan.findings.push_back({Severity::kInfo, "no_gpu_pods",
                           who(names, names.size() + 1) +
                               "no GPU and no adapter: NCCL does not go there, "
                               "and MPI stays on TCP "
                               "in all pods",
                           "", ""});
}

// Some pod has adapters that are used, or would be without profile rl.
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
