// SPDX-License-Identifier: Apache-2.0
// Shared memory, locked memory, huge pages, CPU quota.
#include "base/text.h"
#include "doctor/checks.h"

namespace muster {

namespace {

// The default of every container runtime when the pod says nothing.
constexpr int64_t kDefaultShm = 64 << 20;
// Registering buffers for RDMA locks them; below this real jobs fail.
constexpr int64_t kLittleLockable = 1LL << 30;

std::string bytes(int64_t value) {
  return human_bytes(static_cast<uint64_t>(value));
}

void check_shm(const PodState& pod, DoctorFindings& out) {
  const int64_t total = pod.facts.shm_total;
  if (total < 0 || total > kDefaultShm) return;
  const bool needs = pod.facts.gpu.count > 1 || pod.slots > 1;
  out.push_back(
      {{needs ? Severity::kWarning : Severity::kInfo, "shm_small",
        "/dev/shm is only " + bytes(total),
        bytes(pod.facts.shm_free) + " free, " +
            std::to_string(pod.facts.gpu.count) + " GPUs",
        "MPI, NCCL and data loaders put messages there and die with a bus "
        "error when it is full"},
       "containers:\n"
       "  - volumeMounts: [{name: shm, mountPath: /dev/shm}]\n"
       "volumes:\n"
       "  - {name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}"});
}

void check_memlock(const PodState& pod, DoctorFindings& out) {
  const int64_t hard = pod.facts.memlock_hard;
  if (pod.rdma_devices.empty() || hard == -1 || hard == -2) return;
  if (hard >= kLittleLockable) return;
  out.push_back(
      {{Severity::kError, "memlock_small",
        "RDMA cannot register memory: only " + bytes(hard) + " may be locked",
        "RLIMIT_MEMLOCK of this process; " + pod.rdma_devices[0] + " is here",
        pod.facts.uid == 0
            ? "add the capability IPC_LOCK"
            : "the capability does not reach other users than root: raise "
              "LimitMEMLOCK of the container runtime on the nodes"},
       "securityContext:\n"
       "  capabilities: {add: [IPC_LOCK]}"});
}

// Libraries map huge pages because the node has some, and the pod is killed
// with a bus error at the first touch if its own limit is 0.
void check_huge_pages(const PodState& pod, DoctorFindings& out) {
  if (pod.facts.huge_pages <= 0 || pod.facts.huge_pages_limit != 0) return;
  out.push_back({{Severity::kWarning, "huge_pages_denied",
                  "the node has huge pages and this pod may use none",
                  std::to_string(pod.facts.huge_pages) + " pages on the node",
                  "ask for some, or a library that tries them (UCX, Open MPI, "
                  "DPDK) ends with a bus error"},
                 "resources:\n"
                 "  limits: {hugepages-2Mi: 512Mi, memory: 4Gi}"});
}

void check_quota(const PodState& pod, DoctorFindings& out) {
  if (pod.facts.cpu_quota <= 0 || pod.slots <= 0) return;
  if (pod.slots <= pod.facts.cpu_quota + 0.01) return;
  const std::string cpus = std::to_string(pod.facts.cpu_quota);
  out.push_back({{Severity::kWarning, "slots_over_cpus",
                  std::to_string(pod.slots) + " slots share " +
                      cpus.substr(0, cpus.find('.') + 3) + " CPUs",
                  "CFS quota of the container",
                  "ranks that wait spin and eat each other's time: give each "
                  "slot a CPU, or ask for fewer slots"},
                 "resources:\n"
                 "  limits: {cpu: \"" +
                     std::to_string(pod.slots) + "\"}"});
}

}  // namespace

void check_memory(const PodState& pod, DoctorFindings& out) {
  check_shm(pod, out);
  check_memlock(pod, out);
  check_huge_pages(pod, out);
  check_quota(pod, out);
}

}  // namespace muster
