// SPDX-License-Identifier: Apache-2.0
// lint_costs(): variables that work, and disable a feature of the pod: NVLink,
// GPUDirect RDMA, or demand SHARP that is missing. Reports a cost, never
// changes a value; nothing under profile rl, which reports its own. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

bool several_gpus(const PodFabric& pod) {
  return pod.gpus && pod.gpus->size() > 1;
}

bool any_nvlink(const PodFabric& pod) {
  return yes(pod.nvswitch) ||
         (pod.gpus && std::any_of(pod.gpus->begin(), pod.gpus->end(),
                                  [](auto& gpu) { return yes(gpu.nvlink); })) ||
         has_nvlink_board(pod) || has_xgmi(pod);
}

void lint_peers(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users) {
  const bool off =
      (name == "NCCL_P2P_DISABLE" && switched_on(*pod.facts, name)) ||
      (name == "NCCL_P2P_LEVEL" &&
       (path_rank(users.value) == 0 || trim(users.value) == "0"));
  if (!off || !several_gpus(*pod.facts) || !any_nvlink(*pod.facts)) return;
  if (no(pod.facts->p2p_works)) return;  // then it is the remedy
  lint_warn(job, pod, "lint_p2p_off",
            name + "=" + users.value +
                ": GPUs of one pod exchange data through host memory, and " +
                (has_xgmi(*pod.facts) ? "XGMI" : "NVLink") + " stays idle",
            "remove it; where peer to peer hangs, NCCL_P2P_LEVEL=NVL keeps it");
}

// The number of GPUs of the graph files in the images of Azure
// (Azure/azhpc-images, topology; Azure/azhpc-images#327; NVIDIA/nccl#1008).
constexpr std::pair<std::string_view, size_t> kGraphs[] = {{"/ncv4/", 4}};

std::string lacking_gpus(const FabricPodState& pod, const std::string& file) {
  for (const auto& [place, gpus] : kGraphs) {
    if (file.find(place) == file.npos || !pod.facts->gpus) continue;
    const size_t here = pod.facts->gpus->size();
    if (here == 0 || here >= gpus) continue;
    return "it is for " + std::to_string(gpus) + " GPUs, and the pod has " +
           std::to_string(here);
  }
  return "";
}

// Channels by hand, GPU by GPU and adapter by adapter (src/graph/search.cc).
void lint_graph(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users) {
  if (name != "NCCL_GRAPH_FILE" || trim(users.value).empty()) return;
  if (const auto lacking = lacking_gpus(pod, users.value); !lacking.empty()) {
    return lint_warn(job, pod, "lint_graph_file",
                     name + "=" + users.value + " (" + users.origin +
                         "): " + lacking + ", so that NCCL ends with an error",
                     "remove it, also from /etc/nccl.conf");
  }
  report(job, &pod,
         {Severity::kInfo, "lint_graph_file",
          name + "=" + users.value + " (" + users.origin +
              ") fits one machine with all its GPUs: where one that it names "
              "is not there, NCCL ends with an error",
          "Azure/azhpc-images#327", "remove it where NCCL does not start"});
}

// Without both ways GPUs of one pod talk over the network.
void lint_memory(FabricJob& job, FabricPodState& pod, const std::string& name) {
  if (name != "NCCL_SHM_DISABLE" || !switched_on(*pod.facts, name)) return;
  const bool no_peers =
      switched_on(*pod.facts, "NCCL_P2P_DISABLE") || no(pod.facts->p2p_works);
  if (!no_peers || !several_gpus(*pod.facts)) return;
  lint_warn(job, pod, "lint_shm_off",
            name +
                "=1 where peer to peer is off, too: GPUs of one pod exchange "
                "data over the network",
            "remove it; where /dev/shm is small, mount a larger one");
}

void lint_gpu_direct(FabricJob& job, FabricPodState& pod,
                     const std::string& name, const EffectiveValue& users) {
  const bool level = name == "NCCL_NET_GDR_LEVEL" &&
                     (path_rank(users.value) == 0 || trim(users.value) == "0");
  const bool dmabuf = name == "NCCL_DMABUF_ENABLE" &&
                      trim(users.value) == "0" && no(pod.facts->peermem);
  if ((!level && !dmabuf) || !job.uses_verbs() || !pod.facts->gpus ||
      pod.facts->gpus->empty()) {
    return;
  }
  lint_warn(job, pod, "lint_gdr_off",
            name + "=" + users.value +
                " switches GPUDirect RDMA off: data between pods goes through "
                "host memory",
            "remove it, unless it shows where a hang comes from (ACS, IOMMU)");
}

// The handles by which GPUs of other machines are reached over NVLink are
// cuMem's (vllm-project/vllm#16992).
void lint_rack(FabricJob& job, FabricPodState& pod, const std::string& name,
               const EffectiveValue& users) {
  const bool off = trim(users.value) == "0" &&
                   (name == "NCCL_CUMEM_ENABLE" || name == "NCCL_MNNVL_ENABLE");
  if (!off || job.pods.size() < 2 || !has_rack_nvlink(*pod.facts)) return;
  if (no(pod.facts->imex_channel)) return;  // there is no loss
  const bool sure = yes(pod.facts->imex_channel);
  report(job, &pod,
         {sure ? Severity::kWarning : Severity::kInfo, "lint_mnnvl_off",
          name + "=0 switches NVLink between the machines off: data goes over "
                 "the network",
          "vllm-project/vllm#16992", "remove it"});
}

void lint_sharp(FabricJob& job, FabricPodState& pod, const std::string& name) {
  if (name != "NCCL_COLLNET_ENABLE" || !switched_on(*pod.facts, name)) return;
  if (!pod.facts->plugins || loaded_plugin(*pod.facts)) return;
  lint_warn(job, pod, "lint_no_effect",
            name +
                " has no effect: there is no plugin in the image that "
                "brings SHARP",
            "use an image with HPC-X, or remove it");
}

}  // namespace

void lint_costs(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users) {
  if (job.profile == Profile::kRl) return;
  lint_peers(job, pod, name, users);
  lint_memory(job, pod, name);
  lint_gpu_direct(job, pod, name, users);
  lint_rack(job, pod, name, users);
  lint_sharp(job, pod, name);
  lint_graph(job, pod, name, users);
}

}  // namespace muster
