// SPDX-License-Identifier: Apache-2.0
// GPUs against slots, CUDA against the driver.
#include "base/text.h"
#include "doctor/checks.h"

namespace muster {

namespace {

struct DriverNeed {
  int cuda_major;
  int driver_major;
};

// Least Linux driver branch for each CUDA major version under minor version
// compatibility (CUDA Compatibility guide, table 2).
constexpr DriverNeed kDriverNeeds[] = {{11, 450}, {12, 525}, {13, 580}};

int leading_number(const std::string& version) {
  return parse_int(std::string_view(version).substr(0, version.find('.')))
      .value_or(-1);
}

void check_slots(const PodState& pod, DoctorFindings& out) {
  const int gpus = pod.facts.gpu.count;
  if (gpus <= 0 || pod.slots <= 0 || gpus == pod.slots) return;
  const bool more = pod.slots > gpus;
  out.push_back({{more ? Severity::kWarning : Severity::kInfo, "slots_not_gpus",
                  std::to_string(pod.slots) + " slots for " +
                      std::to_string(gpus) + " GPUs",
                  "device nodes in this pod",
                  more ? "several ranks get the same GPU; NCCL refuses that"
                       : "some GPUs get no rank"},
                 "spec:\n  slotsPerWorker: " + std::to_string(gpus)});
}

void check_driver(const PodState& pod, DoctorFindings& out) {
  const int cuda = leading_number(pod.facts.cuda_runtime);
  const int driver = leading_number(pod.facts.cuda_driver);
  if (cuda < 0 || driver < 0) return;
  for (const DriverNeed& need : kDriverNeeds) {
    if (need.cuda_major != cuda || driver >= need.driver_major) continue;
    out.push_back(
        {{Severity::kError, "driver_too_old",
          "CUDA " + pod.facts.cuda_runtime + " in the image needs driver " +
              std::to_string(need.driver_major) + " or newer",
          "the node has " + pod.facts.cuda_driver,
          "use an image with an older CUDA, the cuda-compat package "
          "in the image, or nodes with a newer driver"},
         "nodeSelector: {nvidia.com/cuda.driver.major: \"" +
             std::to_string(need.driver_major) + "\"}"});
  }
}

void check_gpu_access(const PodState& pod, DoctorFindings& out) {
  if (pod.facts.gpu.count > 0 || pod.facts.cuda_driver.empty()) return;
  if (pod.contract.role == Role::kLauncher) return;
  out.push_back({{Severity::kInfo, "no_gpu_given",
                  "the node has an NVIDIA driver and this pod has no GPU",
                  "driver " + pod.facts.cuda_driver + ", no /dev/nvidia0",
                  "ask for GPUs if the job needs them"},
                 "resources:\n  limits: {nvidia.com/gpu: 8}"});
}

}  // namespace

void check_devices(const PodState& pod, DoctorFindings& out) {
  check_slots(pod, out);
  check_driver(pod, out);
  check_gpu_access(pod, out);
}

}  // namespace muster
