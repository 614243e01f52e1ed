// SPDX-License-Identifier: Apache-2.0
// Reports obstacles between GPUs, and between GPUs and adapters, on the node:
// PCIe ACS, a translating IOMMU, slices of one GPU. Only reports: a job's
// variables cannot repair them. Sources: NCCL guide, troubleshooting,
// "GPU Direct"; NVIDIA/nccl#257, #928, #1716, #2079. Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

bool nccl_uses_verbs(const FabricJob& job) {
  return job.uses_verbs() && job.profile != Profile::kRl;
}

// Peer to peer over PCIe: between GPUs without NVLink, or GPU and adapter.
bool uses_pcie_peers(const FabricJob& job, const PodFabric& facts) {
  if (no_gpus(facts)) return false;
  if (!facts.gpus) return nccl_uses_verbs(job);
  const bool bare = std::any_of(facts.gpus->begin(), facts.gpus->end(),
                                [](auto& gpu) { return !yes(gpu.nvlink); });
  return nccl_uses_verbs(job) || (facts.gpus->size() > 1 && bare);
}

void check_redirection(FabricJob& job, const FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (!uses_pcie_peers(job, facts)) return;
  // In a virtual machine both are the hypervisor's, which knows what it does,
  // unless copies come out wrong (tinygrad/open-gpu-kernel-modules#18).
  const bool virtual_one = yes(facts.virtual_machine);
  if (virtual_one && !no(facts.p2p_works)) return;
  if (yes(facts.acs) && !virtual_one) {
    report(job, &pod,
           {Severity::kWarning, "acs_on",
            nccl_uses_verbs(job)
                ? "PCIe ACS sends GPU-adapter traffic through the root "
                  "complex: GPUDirect RDMA is slow or hangs"
                : "PCIe ACS sends traffic between GPUs through the root "
                  "complex: peer to peer is slow or hangs",
            "NVIDIA/nccl#928, #2079",
            "disable ACS on the node's PCIe switches and root ports"});
  }
  if (yes(facts.iommu) &&
      !(facts.gpus &&
        std::any_of(facts.gpus->begin(), facts.gpus->end(), is_grace))) {
    report(job, &pod,
           {Severity::kWarning, "iommu_on",
            "the IOMMU translates, which sends peer-to-peer traffic of GPUs "
            "through the CPU: it is slow, hangs, or comes out wrong",
            "NVIDIA/nccl#257; NCCL guide, troubleshooting",
            "boot the node with iommu=pt, or with intel_iommu=off or "
            "amd_iommu=off"});
  }
}

// The number behind the last "cuda" of "2.28.3+cuda13.0", or "13.0" itself.
int64_t cuda_major(const std::string& text) {
  const size_t mark = text.rfind("cuda");
  const std::string number = mark == text.npos ? text : text.substr(mark + 4);
  const auto parts = split(number, '.');
  return parse_integer(trim(parts[0])).value_or(-1);
}

// NCCL built for a newer major version of CUDA than the driver takes.
void check_cuda(FabricJob& job, const FabricPodState& pod) {
  const std::string& nccl = pod.facts->nccl_version;
  if (nccl.find("cuda") == std::string::npos) return;
  const int64_t wanted = cuda_major(nccl);
  const int64_t taken = cuda_major(pod.facts->cuda_version);
  if (wanted < 0 || taken < 0 || wanted <= taken) return;
  report(job, &pod,
         {Severity::kWarning, "cuda_too_old",
          "NCCL is built for CUDA " + std::to_string(wanted) +
              ", and the node's driver takes CUDA " + pod.facts->cuda_version +
              ": \"CUDA driver version is insufficient\"",
          "nvidia-smi, NCCL's version text",
          "update the driver, use an image for CUDA " + std::to_string(taken) +
              ", or put cuda-compat into the image"});
}

// NCCL before the first release for these GPUs: its kernels want more shared
// memory than they have, or are missing.
void check_age(FabricJob& job, const FabricPodState& pod) {
  if (!pod.facts->gpus || !pod.version || has_amd_gpus(*pod.facts)) return;
  for (const FabricGpu& gpu : *pod.facts->gpus) {
    const NcclVersion first = is_rtx50(gpu)       ? NcclVersion{2, 26, 2}
                              : is_blackwell(gpu) ? NcclVersion{2, 25, 1}
                                                  : NcclVersion{};
    if (*pod.version >= first) continue;
    report(job, &pod,
           {Severity::kWarning, "nccl_too_old",
            "NCCL " + pod.version->text() + " is older than these GPUs (" +
                gpu.name + "), which " + first.text() +
                " is the first to be made for: it fails or hangs",
            "NVIDIA/nccl#1637; NVIDIA/nccl-tests#287; release notes of 2.25",
            "use NCCL " + first.text() + " or later"});
    return;
  }
}

// Slices of one GPU in one pod are one device to NCCL.
void check_slices(FabricJob& job, const FabricPodState& pod) {
  if (!pod.facts->gpus) return;
  size_t slices = 0;
  bool same = false;
  std::set<std::string> places;
  for (const FabricGpu& gpu : *pod.facts->gpus) {
    if (!yes(gpu.mig)) continue;
    ++slices;
    same = gpu.pci.empty() || !places.insert(gpu.pci).second || same;
  }
  if (slices < 2 || !same) return;
  report(job, &pod,
         {Severity::kWarning, "mig_slices",
          "the pod has " + std::to_string(slices) +
              " MIG slices: NCCL takes two slices of one GPU for the same "
              "device and stops (\"Duplicate GPU detected\")",
          "NVIDIA/nccl#1716",
          "give the pod whole GPUs, or one slice per pod; newer NCCL has "
          "NCCL_MULTI_RANK_GPU_ENABLE=1 as an experiment"});
}

}  // namespace

void check_gpus(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) {
    check_cuda(job, pod);
    check_age(job, pod);
    check_redirection(job, pod);
    check_slices(job, pod);
  }
}

}  // namespace muster
