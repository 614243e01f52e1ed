// SPDX-License-Identifier: Apache-2.0
// lint_amd(): what RCCL and the runtime below it read by other names than
// NCCL_: RCCL_ variables that are misspelt, NCCL's, or of an older version; and
// those of HSA that RCCL's own documentation asks for. HSA's are named and not
// set: what they cost (memory of the GPU) and whether the firmware still needs
// them cannot be seen in a pod. Sources: ROCm/rccl and ROCm/rocm-systems
// projects/rccl (src, CHANGELOG.md), ROCm/rccl-tests README. Pure.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

struct RcclVariable {
  const char* name;
  NcclVersion gone{};  // the first version that does not read it
  const char* instead = nullptr;
};

// MSCCL left with ROCm 7.13, of which the next RCCL has a number of its own.
constexpr NcclVersion kNoMsccl{2, 30, 4};

constexpr RcclVariable kRccl[] = {
    {"RCCL_CHANNEL_TUNING_ENABLE"},
    {"RCCL_CTS_OFFLOAD_ENABLED"},
    {"RCCL_DDA_ENABLE"},
    {"RCCL_DDA_THRESHOLD"},
    {"RCCL_DIRECT_ALLGATHER_DISABLE"},
    {"RCCL_DISABLE_RAIL_TREES"},
    {"RCCL_DUMP_ROME_MODEL_FILE"},
    {"RCCL_ENABLE_CONTEXT_TRACKING", kNoMsccl, "NCCL_LAUNCH_ORDER_IMPLICIT"},
    {"RCCL_ENABLE_HIPGRAPH", {2, 13, 4}},
    {"RCCL_ENABLE_INTRANET"},
    {"RCCL_ENABLE_SIGNALHANDLER"},
    {"RCCL_FORCE_ENABLE_DMABUF"},
    {"RCCL_FORCE_ENABLE_GDRDMA"},
    {"RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"},
    {"RCCL_HIERARCHICAL_ALLGATHER"},
    {"RCCL_IB_P2P_DISABLE_CTS"},
    {"RCCL_IB_QPS_PER_P2P"},
    {"RCCL_IB_SPLIT_DATA_THRESHOLD"},
    {"RCCL_INTRANET_THRESHOLD"},
    {"RCCL_KERNEL_COLL_TRACE_ENABLE"},
    {"RCCL_LL128_FORCE_ENABLE"},
    {"RCCL_MODEL_MATCHING_DISABLE"},
    {"RCCL_MSCCLPP_ENABLE", kNoMsccl},
    {"RCCL_MSCCLPP_THRESHOLD", kNoMsccl},
    {"RCCL_MSCCL_ENABLE", kNoMsccl},
    {"RCCL_MSCCL_ENABLE_SINGLE_PROCESS", kNoMsccl},
    {"RCCL_MSCCL_FORCE_ENABLE", kNoMsccl},
    {"RCCL_MSCCL_FORCE_FULLOPS", kNoMsccl},
    {"RCCL_MSCCL_WORK_FIFO_DEPTH", kNoMsccl},
    {"RCCL_NET_CONTIGUOUS_MEM"},
    {"RCCL_OUTPUT_TREES"},
    {"RCCL_OVERRIDE_ALGO"},
    {"RCCL_OVERRIDE_PROTO"},
    {"RCCL_P2P_BATCH_ENABLE"},
    {"RCCL_P2P_BATCH_THRESHOLD"},
    {"RCCL_P2P_NET_DISABLE"},
    {"RCCL_P2P_NET_THRESHOLD"},
    {"RCCL_P2P_SHIFT_SIZE"},
    {"RCCL_PIVOT_ALLTOALL_ENABLE"},
    {"RCCL_PROXYTRACE"},
    {"RCCL_ROCR_PATH", kNoMsccl},
    {"RCCL_SATURATE_P2P_NCHANNELS"},
    {"RCCL_SOCKET_LINGER"},
    {"RCCL_SOCKET_REUSEADDR"},
    {"RCCL_STACK_SIZE_OVERRIDE"},
    {"RCCL_THREADS_PER_BLOCK"},
    {"RCCL_TREES"},
    {"RCCL_UNROLL_FACTOR"},
    {"RCCL_USE_ROCM_SMI_LIB"},
    {"RCCL_WARP_SPEED_AUTO"},
    {"RCCL_WARP_SPEED_CU_COUNT"},
    {"RCCL_WARP_SPEED_ENABLE"},
};

// "NCCL_DEBUG" of "RCCL_DEBUG", or the RCCL_ name next to a misspelt one.
std::string meant_name(const std::string& name) {
  const std::string nccls = "N" + name.substr(1);
  if (find_nccl_variable(nccls, true) != nullptr) return nccls;
  constexpr size_t kPrefix = 5;  // a common part makes nothing near
  std::vector<std::string> names;
  for (const RcclVariable& known : kRccl) {
    names.emplace_back(known.name + kPrefix);
  }
  const auto found = nearest(name.substr(kPrefix), names);
  return found ? "RCCL_" + *found : "";
}

void lint_rccl_name(FabricJob& job, FabricPodState& pod,
                    const std::string& name) {
  const auto known =
      std::find_if(std::begin(kRccl), std::end(kRccl),
                   [&](auto& variable) { return name == variable.name; });
  if (known == std::end(kRccl)) {
    const std::string meant = meant_name(name);
    if (meant.empty()) return;  // a newer version's, or another program's
    return lint_warn(job, pod, "lint_unknown_name",
                     name + " is not an RCCL variable and has no effect",
                     "did you mean " + meant + "?");
  }
  if (known->gone == NcclVersion{} || !pod.version ||
      *pod.version < known->gone) {
    return;
  }
  report(job, &pod,
         {Severity::kInfo, "lint_obsolete",
          name + " has no effect: RCCL does not read it since " +
              known->gone.text(),
          "RCCL's changelog",
          known->instead != nullptr
              ? std::string("remove it; ") + known->instead + " took its place"
              : "remove it"});
}

bool named(const PodFabric& pod, const char* word) {
  return pod.gpus &&
         std::any_of(pod.gpus->begin(), pod.gpus->end(), [&](auto& gpu) {
           return to_lower(gpu.name).find(word) != std::string::npos;
         });
}

void ask_for(FabricJob& job, FabricPodState& pod, const char* name,
             const char* code, std::string why, std::string source) {
  const auto users = effective(*pod.facts, name);
  if (users && trim(users->value) == "1") return;
  report(job, &pod,
         {Severity::kInfo, code,
          std::move(why) + (users ? ", and it is " + users->value : ""),
          std::move(source), "set " + std::string(name) + "=1"});
}

// Memory for spilled registers that each launch takes and gives back.
void lint_scratch(FabricJob& job, FabricPodState& pod) {
  if (!pod.version) return;
  // RCCL 2.22.3 came with ROCm 6.4.
  const bool before_6_4 =
      named(*pod.facts, "mi3") && *pod.version < NcclVersion{2, 22, 3};
  const bool since_7_14 =
      named(*pod.facts, "mi2") && *pod.version >= NcclVersion{2, 30, 4};
  if (!before_6_4 && !since_7_14) return;
  ask_for(job, pod, "HSA_NO_SCRATCH_RECLAIM", "hsa_scratch",
          "RCCL " + pod.version->text() +
              " on these GPUs is slower without HSA_NO_SCRATCH_RECLAIM=1",
          before_6_4 ? "ROCm/rccl-tests README" : "RCCL's changelog");
}

void lint_fine_grain(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (!facts.gpus || facts.gpus->size() < 2) return;
  const bool apart = std::any_of(facts.gpus->begin(), facts.gpus->end(),
                                 [](auto& gpu) { return no(gpu.nvlink); });
  if (has_xgmi(facts) && !apart) return;
  ask_for(job, pod, "HSA_FORCE_FINE_GRAIN_PCIE", "hsa_fine_grain",
          "GPUs that are joined by PCIe reach each other directly only with "
          "HSA_FORCE_FINE_GRAIN_PCIE=1 (and large BARs)",
          "RCCL usage tips");
}

// By themselves RCCL's GPUs reach all adapters of their peers, on other rails,
// too, which AMD's AINIC does not connect everywhere (AMD-AGI/Primus#728).
void lint_pxn(FabricJob& job, FabricPodState& pod) {
  const auto users = effective(*pod.facts, "NCCL_PXN_DISABLE");
  const bool ainic =
      std::count_if(pod.ports.begin(), pod.ports.end(), [](auto& view) {
        return view.chosen && (view.hca->driver.starts_with("ionic") ||
                               view.hca->name.starts_with("ionic"));
      }) > 1;
  if (!users || trim(users->value) != "1" || !ainic || job.pods.size() < 2 ||
      yes(pod.facts->cross_rail)) {
    return;
  }
  lint_warn(job, pod, "lint_pxn_off",
            "NCCL_PXN_DISABLE=1 (" + users->origin +
                "): data between rails goes from adapter to adapter, which "
                "fails where AINIC's rails are not joined",
            "NCCL_PXN_DISABLE=0");
}

}  // namespace

void lint_amd(FabricJob& job, FabricPodState& pod) {
  if (!has_amd_gpus(*pod.facts)) return;
  for (const std::string& name : effective_names(*pod.facts)) {
    if (name.starts_with("RCCL_")) lint_rccl_name(job, pod, name);
  }
  lint_scratch(job, pod);
  lint_pxn(job, pod);
  lint_fine_grain(job, pod);
}

}  // namespace muster
