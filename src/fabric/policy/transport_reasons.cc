// SPDX-License-Identifier: Apache-2.0
// Why the job uses its network, and why it does not use each other one of some
// pod: for explain. Pure.
#include <algorithm>

#include "fabric/policy/job_state.h"

namespace muster {

namespace {

const FabricPodState* first_without(const FabricJob& job,
                                    FabricTransport transport) {
  for (const FabricPodState& pod : job.pods) {
    if (pod.tcp_by_user || !pod.offers.contains(transport)) return &pod;
  }
  return nullptr;
}

std::string why_not(const FabricJob& job, FabricTransport transport) {
  if (job.profile == Profile::kTcp) return "profile tcp";
  const FabricPodState* pod = first_without(job, transport);
  if (pod == nullptr) return "";  // lost by its rate: best_common() says so
  if (pod->tcp_by_user) {
    return pod->ruled_out_by + " of the user in " + pod->plan.name;
  }
  return "not in " + pod->plan.name +
         (pod->absent.empty() ? "" : ": " + pod->absent);
}

// `networks`: that some pod has; `common`: that every pod has.
std::string reason_of(const FabricJob& job, size_t networks, size_t common) {
  if (job.profile == Profile::kTcp) return "profile tcp";
  if (job.transport == FabricTransport::kTcp) {
    return networks == 0 ? "no pod has RDMA"
                         : "no network with RDMA can be used in every pod";
  }
  const bool by_shape = std::any_of(job.pods.begin(), job.pods.end(),
                                    [](auto& pod) { return pod.by_shape; });
  if (by_shape) return "machines of this name have it, as their maker says";
  if (networks == 1) return "every pod has it";
  return common == 1 ? "the only one that every pod has"
                     : "the best of those that every pod has";
}

}  // namespace

void explain_transport(FabricJob& job) {
  if (job.transport == FabricTransport::kUnknown) {
    job.transport_reason = "the facts do not say which networks there are";
    return;
  }
  std::set<FabricTransport> networks;
  for (const FabricPodState& pod : job.pods) {
    networks.insert(pod.offers.begin(), pod.offers.end());
  }
  for (const FabricTransport transport : networks) {
    if (transport == job.transport) continue;
    const std::string why = why_not(job, transport);
    if (why.empty()) continue;
    job.transport_rejected.push_back(std::string(transport_name(transport)) +
                                     ": " + why);
  }
  const auto common = static_cast<size_t>(std::count_if(
      networks.begin(), networks.end(), [&job](FabricTransport transport) {
        return first_without(job, transport) == nullptr;
      }));
  job.transport_reason = reason_of(job, networks.size(), common);
  const std::string chosen(transport_name(job.transport));
  if (job.profile == Profile::kRl && !job.mpi_only()) {
    job.transport_reason = "profile rl";
    if (job.transport != FabricTransport::kTcp) {
      job.transport_rejected.push_back(chosen + ": profile rl switches it off");
    }
  } else if (job.transport != FabricTransport::kTcp) {
    job.transport_rejected.emplace_back(
        "TCP: only where some pod has no other network");
  }
}

}  // namespace muster
