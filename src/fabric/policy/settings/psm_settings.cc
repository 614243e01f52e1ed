// SPDX-License-Identifier: Apache-2.0
// Intel's and Cornelis' PSM below MPI. libfabric's psm3 claims any Ethernet and
// opens no adapter (open-mpi/ompi#11295,
// easybuilders/easybuild-easyconfigs#18925): without one keeps Open MPI off
// libfabric, which would only have tcp. PSM2 sends memory of GPUs only on
// request (open-mpi/ompi#4899). Pure.
#include <algorithm>

#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/libfabric.h"

namespace muster {

namespace {

bool chosen_by_user(const PodFabric& pod) {
  const auto set = [&](const char* name) {
    return effective(pod, name).has_value();
  };
  return set("FI_PROVIDER") || set("OMPI_MCA_mtl") || set("OMPI_MCA_pml") ||
         set("OMPI_MCA_mtl_ofi_provider_include") ||
         set("OMPI_MCA_mtl_ofi_provider_exclude");
}

bool has_setting(const FabricPodState& pod, const char* name) {
  return std::any_of(pod.plan.settings.begin(), pod.plan.settings.end(),
                     [&](auto& setting) { return setting.name == name; });
}

void keep_from_psm3(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  if (facts.mpi.family != "openmpi" || !facts.hcas || !facts.hcas->empty() ||
      !yes(has_named_provider(facts, "psm3")) || chosen_by_user(facts) ||
      has_setting(pod, "OMPI_MCA_pml")) {
    return;
  }
  FabricSetting setting{"Open MPI",
                        "OMPI_MCA_mtl",
                        "^ofi",
                        "libfabric's psm3 says that it is there without an "
                        "adapter, and Open MPI takes it before TCP",
                        "fi_getinfo: psm3; no adapter in the pod",
                        FabricConfidence::kLikely,
                        "open-mpi/ompi#11295"};
  setting.alone = "libfabric's psm3";
  setting.rejected = {"FI_PROVIDER=tcp: slower than Open MPI's own TCP"};
  propose(job, pod, setting);
  report(job, &pod,
         {Severity::kWarning, "psm3_without_adapter",
          "the image's libfabric offers psm3, which finds no adapter here and "
          "hangs or ends MPI_Init: Open MPI is kept from it",
          "fi_getinfo", "FI_PROVIDER=tcp does the same for other programs"});
}

void check_gpu_memory(FabricJob& job, const FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  const bool omni_path =
      std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
        return view.chosen && (view.hca->name.starts_with("hfi1") ||
                               view.hca->driver == "hfi1");
      });
  if (job.pods.size() < 2 || !omni_path || !yes(facts.mpi.cuda_aware) ||
      !facts.gpus || facts.gpus->empty() || has_amd_gpus(facts) ||
      effective(facts, "PSM2_CUDA")) {
    return;
  }
  report(job, &pod,
         {pod.version ? Severity::kInfo : Severity::kWarning, "psm2_cuda",
          "MPI is CUDA-aware, and PSM2 of Omni-Path takes memory of GPUs only "
          "with PSM2_CUDA=1 and where it is built for CUDA",
          "open-mpi/ompi#4899", "set PSM2_CUDA=1, with libpsm2 for CUDA"});
}

}  // namespace

void set_psm(FabricJob& job) {
  for (FabricPodState& pod : job.pods) {
    keep_from_psm3(job, pod);
    check_gpu_memory(job, pod);
  }
}

}  // namespace muster
