// SPDX-License-Identifier: Apache-2.0
// The NVLink fabric: not ready on some GPU, or not one for all pods. The
// hardware trains links, and they look active before the fabric manager has
// finished, so only the fabric's own state counts. Only reports: a job's
// variables cannot repair it. Source: NVML, nvmlDeviceGetGpuFabricInfo; NCCL
// src/mnnvl.cc. Pure.
#include <set>

#include "base/text.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

// "" if the fabric of this GPU works, is missing, or is unknown.
std::string trouble(const FabricGpu& gpu) {
  const std::string state = to_lower(trim(gpu.fabric_state));
  if (state == "in progress" || state == "not started") {
    return "state " + state;
  }
  if (state == "completed" && gpu.fabric_status > 0) {
    return "error " + std::to_string(gpu.fabric_status);
  }
  return "";
}

void check_state(FabricJob& job, const FabricPodState& pod) {
  if (!pod.facts->gpus) return;
  std::set<std::string> troubles;
  size_t count = 0;
  for (const FabricGpu& gpu : *pod.facts->gpus) {
    const std::string text = trouble(gpu);
    if (text.empty()) continue;
    troubles.insert(text);
    ++count;
  }
  if (count == 0) return;
  report(job, &pod,
         {Severity::kWarning, "gpu_fabric",
          "the NVLink fabric is not ready on " + std::to_string(count) +
              " of " + std::to_string(pod.facts->gpus->size()) +
              " GPUs: CUDA fails (error 802), or GPUs exchange data over PCIe",
          join({troubles.begin(), troubles.end()}, ", "),
          "check nvidia-fabricmanager on the node (on NVL72 racks the switch "
          "trays too), until nvidia-smi -q says Fabric State: Completed"});
}

// "CLUSTER/CLIQUE" of the pod's GPUs; "" if they have none or several.
std::string domain_of(const PodFabric& pod) {
  std::set<std::string> domains;
  if (!pod.gpus) return "";
  for (const FabricGpu& gpu : *pod.gpus) {
    const auto& cluster = gpu.fabric_cluster;
    if (cluster.find_first_not_of("0-") == std::string::npos) return "";
    domains.insert(cluster + "/" + std::to_string(gpu.fabric_clique));
  }
  return domains.size() == 1 ? *domains.begin() : "";
}

void check_domains(FabricJob& job) {
  std::set<std::string> domains;
  for (const FabricPodState& pod : job.pods) {
    const std::string domain = domain_of(*pod.facts);
    if (domain.empty()) return;
    domains.insert(domain);
  }
  if (domains.size() < 2) return;
  report(job, nullptr,
         {Severity::kInfo, "nvlink_domains",
          "the pods are in " + std::to_string(domains.size()) +
              " NVLink domains: between these data goes over the network",
          join({domains.begin(), domains.end()}, ", "),
          "place pods that talk most in one domain (a ComputeDomain)"});
}

}  // namespace

void check_gpu_fabric(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) check_state(job, pod);
  check_domains(job);
}

}  // namespace muster
