// SPDX-License-Identifier: Apache-2.0
// From the working table to the plan: the result of each pod, the findings, the
// verdict and the summary. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

// Profile rl switches NCCL's network off, if the pod has NCCL.
bool sends_by_tcp(const FabricJob& job) {
  return job.transport == FabricTransport::kTcp ||
         (job.profile == Profile::kRl && !job.mpi_only());
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

// The interfaces that lost to the plan's.
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

}  // namespace

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

std::string pods_said(const std::vector<std::string>& pods, size_t all) {
  if (pods.empty() || all < 2) return "";
  if (pods.size() == all) return "all pods: ";
  std::string text = pods.front();
  if (pods.size() > 1) text += ", " + pods[1];
  if (pods.size() > 2) {
    text += " and " + std::to_string(pods.size() - 2) + " more";
  }
  return text + ": ";
}

namespace {

bool any_with(const FabricPlan& plan, Severity severity) {
  return std::any_of(
      plan.findings.begin(), plan.findings.end(),
      [&](auto& finding) { return finding.severity == severity; });
}

// One pod, no adapter, and no user's setting for a network: its GPUs meet
// inside, and trouble there counts more than an unused network.
bool needs_no_network(const FabricJob& job) {
  if (job.pods.size() != 1 || job.profile != Profile::kAuto) return false;
  const PodFabric& pod = *job.pods.front().facts;
  return pod.hcas && pod.hcas->empty() && !pod.pci_hcas &&
         !job.pods.front().tcp_by_user && pod.gpus && pod.gpus->size() > 1;
}

// Every pod has RDMA, and only a user's list that matches no adapter keeps the
// job from it.
bool list_is_mistaken(const FabricJob& job) {
  bool any = false;
  for (const FabricPodState& pod : job.pods) {
    if (pod.offers.empty()) return false;
    any = any || pod.ruled_out_by == "NCCL_IB_HCA";
  }
  return any && job.profile == Profile::kAuto;
}

// Ignores findings and settings that exist only because an adapter is missing.
std::optional<FabricVerdict> judge_inside(const FabricPlan& plan) {
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kWarning &&
        !finding.code.starts_with("rdma_")) {
      return FabricVerdict::kWarn;
    }
  }
  for (const FabricSetting& setting : plan.pods.front().settings) {
    if (setting.library == "NCCL" && setting.name != "NCCL_NET" &&
        !setting.name.starts_with("NCCL_SOCKET")) {
      return FabricVerdict::kSet;
    }
  }
  return std::nullopt;
}

FabricVerdict judge(const FabricJob& job, const FabricPlan& plan) {
  if (any_with(plan, Severity::kError)) return FabricVerdict::kRefuse;
  if (needs_no_network(job)) {
    if (const auto verdict = judge_inside(plan)) return *verdict;
  }
  if (list_is_mistaken(job)) return FabricVerdict::kWarn;
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

}  // namespace

FabricPlan finish_plan(FabricJob& job) {
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
    seen.finding.text =
        pods_said(seen.pods, job.pods.size()) + seen.finding.text;
    plan.findings.push_back(std::move(seen.finding));
  }
  std::stable_sort(plan.findings.begin(), plan.findings.end(),
                   [](auto& a, auto& b) { return a.severity > b.severity; });
  plan.mpirun_args = std::move(job.mpirun_args);
  plan.verdict = judge(job, plan);
  plan.summary = summarize(job, plan);
  return plan;
}

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

}  // namespace muster
