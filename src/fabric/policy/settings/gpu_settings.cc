// SPDX-License-Identifier: Apache-2.0
// The settings that GPUs, drivers and pod limits require of NCCL: by probe,
// never by the name of an algorithm. Transport switches are set on all pods or
// on none, because both ends of a communicator must agree. Pure.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

constexpr int64_t kSmallShm = 256LL << 20;
constexpr int64_t kSmallMemlock = 64LL << 20;
// No refusal if it is small: NCCL usually ends at its first buffers
// (NVIDIA/nccl-tests#206), but a job of few channels stays below 8 MiB.

template <class Test>
const FabricPodState* first_pod(const FabricJob& job, Test test) {
  for (const FabricPodState& pod : job.pods) {
    if (test(pod)) return &pod;
  }
  return nullptr;
}

void on_all(FabricJob& job, const FabricSetting& setting) {
  for (FabricPodState& pod : job.pods) propose(job, pod, setting);
}

// "550.40.07" < "550.54.15"; false if unknown.
bool driver_before(const std::string& driver, int64_t major, int64_t minor,
                   int64_t patch) {
  const auto parts = split(driver, '.');
  const std::array wanted = {major, minor, patch};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto number =
        i < parts.size() ? parse_integer(parts[i]) : std::nullopt;
    if (!number) return false;
    if (*number != wanted[i]) return *number < wanted[i];
  }
  return false;
}

bool consumer_card_bug(const FabricPodState& pod) {
  return pod.facts->gpus && pod.facts->gpus->size() > 1 &&
         has_rtx40(*pod.facts) &&
         driver_before(pod.facts->gpu_driver, 550, 40, 7);
}

void set_p2p_and_nvls(FabricJob& job) {
  if (const FabricPodState* pod = first_pod(job, [](const FabricPodState& p) {
        return no(p.facts->multicast) &&
               p.facts->nvswitch.value_or(has_nvlink_board(*p.facts));
      })) {
    on_all(job, {"NCCL",
                 "NCCL_NVLS_ENABLE",
                 "0",
                 "the multicast probe fails on a machine with NVSwitch",
                 "in " + pod->plan.name,
                 FabricConfidence::kProven,
                 "NCCL guide, NCCL_NVLS_ENABLE",
                 "NVLS, and an error or hang",
                 {"NCCL_CUMEM_ENABLE=0: takes more away than needed"}});
  }
  const FabricPodState* wrong_copy = first_pod(
      job, [](const FabricPodState& p) { return no(p.facts->p2p_works); });
  const FabricPodState* old_driver = first_pod(job, consumer_card_bug);
  if (wrong_copy == nullptr && old_driver == nullptr) return;
  const FabricPodState& pod = wrong_copy != nullptr ? *wrong_copy : *old_driver;
  on_all(job, {"NCCL",
               "NCCL_P2P_DISABLE",
               "1",
               wrong_copy != nullptr
                   ? "a copy between GPUs gives wrong bytes or hangs"
                   : "RTX 40 cards need driver 550.40.07 for peer to peer",
               "in " + pod.plan.name + ", driver " + pod.facts->gpu_driver,
               wrong_copy != nullptr ? FabricConfidence::kProven
                                     : FabricConfidence::kLikely,
               "huggingface/accelerate utils/environment.py",
               "P2P",
               {"NCCL_IB_DISABLE=1: RDMA has no part in this"}});
}

void set_cumem_and_mnnvl(FabricJob& job) {
  if (first_pod(job, [](const FabricPodState& p) {
        return no(p.facts->cumem_host) && p.version &&
               *p.version >= kCumemHost && *p.version < kCumemHostFallback;
      })) {
    on_all(job, {"NCCL",
                 "NCCL_CUMEM_HOST_ENABLE",
                 "0",
                 "cuMem host memory does not work in the container, and NCCL "
                 "falls back by itself only since 2.26.5",
                 "cuMem host probe",
                 FabricConfidence::kProven,
                 "NCCL 2.24 and 2.26.5 release notes",
                 "an error at start",
                 {"NCCL_CUMEM_ENABLE=0: also switches NVLS off"}});
  }
  const FabricPodState* pod = first_pod(job, [](const FabricPodState& p) {
    return no(p.facts->imex_channel) && has_rack_nvlink(*p.facts) &&
           p.assumed_version() >= kMnnvlFatal;
  });
  if (pod == nullptr) return;
  on_all(job, {"NCCL",
               "NCCL_MNNVL_ENABLE",
               "0",
               "there is no IMEX channel in the pod, and NCCL since 2.27 "
               "stops when multi-node NVLink fails",
               "/dev/nvidia-caps-imex-channels in " + pod->plan.name,
               FabricConfidence::kLikely,
               "NCCL 2.27 release notes",
               "an error at start",
               {"NCCL_CUMEM_ENABLE=0: takes NVLS inside a tray away, too"}});
  report(job, pod,
         {Severity::kWarning, "imex_missing",
          "multi-node NVLink is switched off: the pod has no IMEX channel, so "
          "traffic between trays goes over the network",
          "", "request a ComputeDomain (DRA) or mount the IMEX channel"});
}

// RCCL looks for the kernel's peer memory, which newer kernels have elsewhere.
void check_amd_gdr(FabricJob& job, const FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (no(facts.memory_peers) && no(facts.peermem) && no(facts.dmabuf)) {
    report(job, &pod,
           {Severity::kWarning, "gdr_missing",
            "GPUDirect RDMA does not work: neither peer memory of the GPUs' "
            "driver nor DMA-BUF is there, so data goes through host memory",
            "/sys/kernel/mm/memory_peers",
            "install amdgpu-dkms and the adapters' own driver (OFED) on the "
            "node, or a kernel with DMA-BUF"});
    return;
  }
  if (!no(facts.memory_peers) || !pod.version ||
      *pod.version >= kAmdKernelPeers ||
      switched_on(facts, "NCCL_DMABUF_ENABLE")) {
    return;
  }
  report(job, &pod,
         {Severity::kWarning, "gdr_unseen",
          "RCCL " + pod.version->text() +
              " cannot see on this kernel that adapters reach the GPUs' "
              "memory, and data goes through host memory",
          "/sys/kernel/mm/memory_peers; RCCL's changes for ROCm 6.2.1 and 6.3",
          "use RCCL 2.21.5 (ROCm 6.3) or later"});
}

// The user's NCCL_NET_GDR_LEVEL reaches as far as some adapter is.
bool widened_by_user(const FabricPodState& pod) {
  const auto users = effective(*pod.facts, "NCCL_NET_GDR_LEVEL");
  if (!users || !pod.facts->gpus) return false;
  const int level = path_rank(level_name(users->value));
  for (const FabricGpu& gpu : *pod.facts->gpus) {
    for (const PortView& view : pod.ports) {
      const int rank = path_rank(gpu_distance(gpu, *view.hca));
      if (rank >= 0 && rank <= level) return true;
    }
  }
  return false;
}

bool gpus_without_dmabuf(const PodFabric& pod) {
  return pod.gpus && std::all_of(pod.gpus->begin(), pod.gpus->end(),
                                 [](auto& gpu) { return no(gpu.dmabuf); });
}

bool nobody_told_dmabuf(const PodFabric& pod) {
  return !pod.dmabuf && pod.gpus && !pod.gpus->empty() &&
         std::none_of(pod.gpus->begin(), pod.gpus->end(), [](auto& gpu) {
           return gpu.dmabuf.has_value() || is_grace(gpu);
         });
}

// 2.13 knows one of the two answers of drivers that have no DMA-BUF, and takes
// the other for a yes; 2.14 knows both.
void set_dmabuf(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (!no(facts.dmabuf) || gpus_without_dmabuf(facts) || !pod.version ||
      *pod.version < kDmaBuf || *pod.version >= kDmaBufAsked) {
    return;
  }
  propose(job, pod,
          {"NCCL",
           "NCCL_DMABUF_ENABLE",
           "0",
           "adapter and GPU exchange no DMA-BUF, and NCCL before 2.14 may not "
           "understand the driver's answer",
           "DMA-BUF probe, NCCL " + pod.version->text(),
           FabricConfidence::kLikely,
           "NVIDIA/nccl#778; NCCL src/transport/net_ib.cc",
           "an error at the first buffer (ibv_reg_dmabuf_mr)",
           {"NCCL_NET_GDR_LEVEL=LOC: takes nvidia_peermem away, too"}});
}

// The module that lets an adapter into a GPU's memory is missing or not seen.
void check_gdr_path(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (has_amd_gpus(facts)) return check_amd_gdr(job, pod);
  const bool no_dmabuf = no(facts.dmabuf) ||
                         (pod.version && *pod.version < kDmaBuf) ||
                         (!facts.dmabuf && gpus_without_dmabuf(facts));
  set_dmabuf(job, pod);
  if (no(facts.peermem) && no_dmabuf) {
    report(job, &pod,
           {Severity::kWarning, "gdr_missing",
            "GPUDirect RDMA does not work: neither nvidia_peermem nor DMA-BUF "
            "is there, so data goes through host memory",
            "",
            "load nvidia_peermem on the node, or use the open GPU driver "
            "with DMA-BUF"});
  } else if (no(facts.peermem) && !pod.version && nobody_told_dmabuf(facts)) {
    report(
        job, &pod,
        {Severity::kWarning, "gdr_missing",
         "nvidia_peermem is not loaded: GPUDirect RDMA works only where the "
         "GPU driver offers DMA-BUF and NCCL is 2.13 or later, and the facts "
         "say neither",
         "NVIDIA/nccl#1343",
         "load nvidia_peermem on the node, or see that the open GPU driver "
         "is in use"});
  } else if (yes(facts.peermem) && no(facts.memory_peers) &&
             !yes(facts.dmabuf) && pod.version &&
             *pod.version < kPeermemModule) {
    report(job, &pod,
           {Severity::kWarning, "gdr_unseen",
            "NCCL " + pod.version->text() +
                " cannot see nvidia_peermem on this kernel and runs without "
                "GPUDirect RDMA",
            "NVIDIA/nccl#1676", "use NCCL 2.23 or later"});
  }
}

// Some adapters are nearer to a GPU than others: the machine's own design, and
// not the one distance that a hypervisor shows.
bool distances_differ(const FabricPodState& pod) {
  std::set<std::string> seen;
  for (const FabricGpu& gpu : *pod.facts->gpus) {
    for (const PortView& view : pod.ports) {
      seen.insert(gpu_distance(gpu, *view.hca));
    }
  }
  return seen.size() > 1;
}

// If no adapter is near a GPU, NCCL does not even try.
void check_flat_topology(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (!flat_topology(facts, pod.ports) || effective(facts, "NCCL_TOPO_FILE") ||
      widened_by_user(pod)) {
    return;
  }
  if (yes(facts.gdr_verified)) {
    propose(job, pod,
            {"NCCL",
             "NCCL_NET_GDR_LEVEL",
             "SYS",
             "the machine shows a flat PCI topology, for which NCCL switches "
             "GPUDirect RDMA off, but a GPUDirect write worked",
             "all GPU-adapter paths are PHB or SYS",
             FabricConfidence::kProven,
             "NCCL src/graph/paths.cc; Azure/aks-rdma-infiniband#36",
             "no GPUDirect RDMA",
             {"unset: data would go through host memory"}});
    return;
  }
  if (!yes(facts.virtual_machine) && distances_differ(pod)) {
    report(job, &pod,
           {Severity::kInfo, "topology_flat",
            "GPUs and adapters are on different root ports: NCCL will not use "
            "GPUDirect RDMA, as is right on most of such machines",
            "distances of GPUs and adapters",
            "NCCL_NET_GDR_LEVEL=SYS, if `muster fabric bench` shows a gain"});
    return;
  }
  report(job, &pod,
         {Severity::kWarning, "topology_flat",
          "no adapter is near a GPU as far as /sys shows (a virtual "
          "machine?): NCCL will not use GPUDirect RDMA",
          "",
          "mount the vendor's topology file and set NCCL_TOPO_FILE; or "
          "NCCL_NET_GDR_LEVEL=SYS after `muster fabric bench` has shown "
          "that GPUDirect writes work"});
}

void check_gdr(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (!job.uses_verbs() || job.profile == Profile::kRl || no_gpus(facts)) {
    return;
  }
  if (no(facts.gdr_verified)) {
    report(job, &pod,
           {Severity::kWarning, "gdr_fails",
            "a GPUDirect RDMA write did not arrive: " + facts.gdr_trouble,
            "tried from the pod to itself",
            "load nvidia_peermem on the node, or use the open GPU driver with "
            "DMA-BUF; check ACS and IOMMU"});
    return;
  }
  check_gdr_path(job, pod);
  check_flat_topology(job, pod);
}

void check_limits(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  const bool gpus = !facts.gpus || facts.gpus->size() > 1;
  if (facts.shm_bytes >= 0 && facts.shm_bytes < kSmallShm && gpus) {
    report(
        job, &pod,
        {Severity::kWarning, "shm_small",
         "/dev/shm has " + human_bytes(static_cast<uint64_t>(facts.shm_bytes)) +
             ": NCCL and data loaders need more",
         "", "mount an emptyDir with medium: Memory at /dev/shm"});
  }
  // A facts file that gives the limit but no network is about RDMA.
  const bool rdma = job.uses_verbs() ||
                    job.transport == FabricTransport::kEfa ||
                    job.transport == FabricTransport::kUnknown;
  if (rdma && facts.memlock_bytes >= 0 &&
      facts.memlock_bytes <= kSmallMemlock) {
    report(
        job, &pod,
        {Severity::kWarning, "memlock_small",
         "at most " + human_bytes(static_cast<uint64_t>(facts.memlock_bytes)) +
             " of memory can be locked: RDMA registration will fail",
         "RLIMIT_MEMLOCK",
         "set the container runtime's memlock limit to unlimited "
         "(LimitMEMLOCK=infinity on the nodes); capability IPC_LOCK helps root "
         "only"});
  }
}

// PXN brings data to the GPU of the right rail first; RCCL has it off.
void keep_on_rails(FabricJob& job, FabricPodState& pod) {
  FabricSetting setting{"NCCL",
                        "NCCL_CROSS_NIC",
                        "0",
                        "adapters of different rails do not reach each other",
                        "reachability test",
                        FabricConfidence::kProven,
                        "NVIDIA/nccl#2345"};
  setting.alone = "2: crosses rails where it seems better";
  setting.rejected = {"1, 2: would send to adapters that are not reached"};
  propose(job, pod, setting);
  if (!has_amd_gpus(*pod.facts)) return;
  setting.name = "NCCL_PXN_DISABLE";
  setting.reason += ", and RCCL leaves PXN off, which keeps data on its rail";
  setting.source = "ROCm/rccl#1303";
  setting.alone = "1: any adapter sends to any";
  setting.rejected = {
      "unset: RCCL's default, 1, sends from any adapter to any"};
  propose(job, pod, setting);
}

}  // namespace

void set_gpu(FabricJob& job) {
  set_p2p_and_nvls(job);
  set_cumem_and_mnnvl(job);
  for (FabricPodState& pod : job.pods) {
    check_gdr(job, pod);
    check_limits(job, pod);
    if (no(pod.facts->cross_rail)) keep_on_rails(job, pod);
  }
}

}  // namespace muster
