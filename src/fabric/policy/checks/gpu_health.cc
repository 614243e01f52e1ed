// SPDX-License-Identifier: Apache-2.0
// GPUs that would slow the whole job down, or end it: clocks held down by heat
// or the power supply, uncorrected memory errors, rows of memory that wait for
// a reset. Uses NVML's counters; only the node's kernel log has Xids. Only
// reports: a job may well be worth running. Pure.
#include "base/text.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

std::string name_of(const FabricGpu& gpu, size_t index) {
  std::string out = "GPU " + std::to_string(index);
  if (!gpu.pci.empty()) out += " (" + gpu.pci + ")";
  return out;
}

void check_gpu(FabricJob& job, const FabricPodState& pod, const FabricGpu& gpu,
               const std::string& name) {
  const auto warn = [&](const char* code, std::string text, const char* seen,
                        const char* remedy) {
    report(
        job, &pod,
        {Severity::kWarning, code, name + " " + std::move(text), seen, remedy});
  };
  if (!gpu.slowdown.empty()) {
    warn("gpu_slowdown",
         "runs with its clocks held down (" + join(gpu.slowdown, ", ") +
             "): in a collective every rank waits for the slowest",
         "nvmlDeviceGetCurrentClocksThrottleReasons",
         "check cooling and power of the node");
  }
  if (yes(gpu.remap_failed)) {
    warn("gpu_memory", "could not replace faulty rows of its memory",
         "nvmlDeviceGetRemappedRows", "take it out of service");
  } else if (yes(gpu.remap_pending)) {
    warn("gpu_memory", "has faulty rows of memory that a reset would replace",
         "nvmlDeviceGetRemappedRows",
         "reset the GPU, or reboot the node, before long jobs");
  } else if (gpu.ecc_errors > 0) {
    warn("gpu_memory",
         "had " + std::to_string(gpu.ecc_errors) +
             " uncorrected memory errors since its driver was loaded",
         "nvmlDeviceGetTotalEccErrors",
         "reset the GPU; Xids in the node's kernel log tell more");
  }
}

}  // namespace

void check_gpu_health(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) {
    if (!pod.facts->gpus) continue;
    for (size_t i = 0; i < pod.facts->gpus->size(); ++i) {
      const FabricGpu& gpu = (*pod.facts->gpus)[i];
      check_gpu(job, pod, gpu, name_of(gpu, i));
    }
  }
}

}  // namespace muster
