// SPDX-License-Identifier: Apache-2.0
// NvmlGpus: the pod's NVIDIA GPUs in a process that holds NVML open: their
// names, and the driver's events for critical Xids. Each call may hang in a
// sick driver: only for processes of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "worker/facts/xid_line.h"

namespace muster {

struct NvmlInstance {
  void* handle = nullptr;
  std::string uuid;  // "MIG-…"
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

struct NvmlGpu {
  void* handle = nullptr;
  int index = -1;
  std::string pci;                      // "0000:1a:00.0"
  std::string uuid;                     // "GPU-…"
  std::vector<NvmlInstance> instances;  // of MIG, those of the pod
};

class NvmlGpus {
 public:
  // `library`: path or name of NVML.
  explicit NvmlGpus(const std::string& library);

  // nullptr: there is no driver, or it does not start; `problem()` says which
  // where a driver is there.
  [[nodiscard]] void* nvml() const { return nvml_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::vector<NvmlGpu>& gpus() const { return gpus_; }

  // From now on Xids are kept for wait_xid(). False: this driver tells none,
  // `problem()` says why.
  bool listen();
  // The next Xid of a GPU or an instance of this pod, within `patience`.
  // nullopt: none came, or the driver cannot tell any more: then `listening()`
  // is false and problem() says why.
  std::optional<XidNews> wait_xid(Milliseconds patience);
  [[nodiscard]] bool listening() const { return events_ != nullptr; }

 private:
  void find_gpus();
  void find_instances(NvmlGpu& gpu) const;

  void* nvml_ = nullptr;
  void* events_ = nullptr;
  int failures_ = 0;  // of waits, one after the other
  std::string problem_;
  std::vector<NvmlGpu> gpus_;
};

}  // namespace muster
