// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/nvml_gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "fabric/collect/nvml.h"

namespace muster {

namespace {

// nvmlEventTypeXidCriticalError; nvmlReturn_t.
constexpr unsigned long long kXidCritical = 0x8;
constexpr int kTimeout = 10;
constexpr int kNotSupported = 3;
constexpr unsigned kNoInstance = UINT_MAX;
constexpr int kMostFailures = 3;
constexpr useconds_t kFailurePauseUs = 1'000'000;

struct NvmlEvent {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;  // not written by the first version of the call
  unsigned compute_instance;
};

std::string uuid_of(void* nvml, void* device) {
  std::array<char, 96> uuid{};
  return ask_driver(nvml, "nvmlDeviceGetUUID", device, uuid.data(), 95U)
             ? uuid.data()
             : "";
}

}  // namespace

NvmlGpus::NvmlGpus(const std::string& library) {
  void* const nvml = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) return;
  if (const int code = call_driver(nvml, "nvmlInit_v2"); code != 0) {
    problem_ = "NVML does not start: error " + std::to_string(code);
    return;
  }
  nvml_ = nvml;
  find_gpus();
}

void NvmlGpus::find_gpus() {
  unsigned count = 0;
  if (!ask_driver(nvml_, "nvmlDeviceGetCount_v2", &count)) return;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    NvmlGpu gpu;
    if (!ask_driver(nvml_, "nvmlDeviceGetHandleByIndex_v2", i, &gpu.handle)) {
      continue;
    }
    gpu.index = static_cast<int>(i);
    gpu.pci = nvml_pci(nvml_, gpu.handle);
    gpu.uuid = uuid_of(nvml_, gpu.handle);
    find_instances(gpu);
    gpus_.push_back(std::move(gpu));
  }
}

void NvmlGpus::find_instances(NvmlGpu& gpu) const {
  unsigned mig = 0;
  unsigned pending = 0;
  unsigned most = 0;
  if (!ask_driver(nvml_, "nvmlDeviceGetMigMode", gpu.handle, &mig, &pending) ||
      mig == 0 ||
      !ask_driver(nvml_, "nvmlDeviceGetMaxMigDeviceCount", gpu.handle, &most)) {
    return;
  }
  for (unsigned i = 0; i < std::min(most, kMostGpus); ++i) {
    void* device = nullptr;
    NvmlInstance one;
    if (ask_driver(nvml_, "nvmlDeviceGetMigDeviceHandleByIndex", gpu.handle, i,
                   &device) &&
        ask_driver(nvml_, "nvmlDeviceGetGpuInstanceId", device,
                   &one.gpu_instance) &&
        ask_driver(nvml_, "nvmlDeviceGetComputeInstanceId", device,
                   &one.compute_instance)) {
      one.handle = device;
      one.uuid = uuid_of(nvml_, device);
      gpu.instances.push_back(std::move(one));
    }
  }
}

bool NvmlGpus::listen() {
  void* events = nullptr;
  if (!ask_driver(nvml_, "nvmlEventSetCreate", &events)) {
    problem_ = "the driver has no events, so that Xids are not seen";
    return false;
  }
  int refused = 0;
  int heard = 0;
  for (const NvmlGpu& gpu : gpus_) {
    unsigned long long types = 0;
    if (!ask_driver(nvml_, "nvmlDeviceGetSupportedEventTypes", gpu.handle,
                    &types) ||
        (types & kXidCritical) == 0) {
      refused = kNotSupported;
      continue;
    }
    const int code = call_driver(nvml_, "nvmlDeviceRegisterEvents", gpu.handle,
                                 kXidCritical, events);
    (code == 0 ? heard : refused) = code == 0 ? heard + 1 : code;
  }
  if (refused != 0) {
    problem_ = "the driver reports no Xids of " +
               std::to_string(static_cast<int>(gpus_.size()) - heard) + " of " +
               std::to_string(gpus_.size()) + " GPUs: error " +
               std::to_string(refused);
  }
  if (heard > 0) {
    events_ = events;
  } else {
    ask_driver(nvml_, "nvmlEventSetFree", events);
  }
  return heard > 0;
}

std::optional<XidNews> NvmlGpus::wait_xid(Milliseconds patience) {
  NvmlEvent event{nullptr, 0, 0, kNoInstance, kNoInstance};
  const auto ms = static_cast<unsigned>(std::max<int64_t>(patience.count(), 0));
  int code = call_driver(nvml_, "nvmlEventSetWait_v2", events_, &event, ms);
  if (code == kNoSuchFunction) {
    code = call_driver(nvml_, "nvmlEventSetWait", events_, &event, ms);
  }
  if (code != 0 && code != kTimeout) {
    if (++failures_ >= kMostFailures) {
      events_ = nullptr;
      problem_ =
          "the driver no longer reports Xids: error " + std::to_string(code);
    } else {
      ::usleep(kFailurePauseUs);
    }
    return std::nullopt;
  }
  failures_ = 0;
  if (code == kTimeout || event.type != kXidCritical) return std::nullopt;
  const auto gpu = std::find_if(
      gpus_.begin(), gpus_.end(),
      [&event](const NvmlGpu& one) { return one.handle == event.device; });
  if (gpu == gpus_.end() || event.data < 1 || event.data > INT_MAX) {
    return std::nullopt;
  }
  XidNews news{
      static_cast<int>(event.data), gpu->index, 1, gpu->pci, gpu->uuid, false};
  if (event.gpu_instance == kNoInstance || gpu->instances.empty()) return news;
  const auto instance =
      std::find_if(gpu->instances.begin(), gpu->instances.end(),
                   [&event](const NvmlInstance& one) {
                     return one.gpu_instance == event.gpu_instance &&
                            (event.compute_instance == kNoInstance ||
                             one.compute_instance == event.compute_instance);
                   });
  if (instance == gpu->instances.end()) return std::nullopt;  // not this pod's
  news.uuid = instance->uuid;
  news.mig = true;
  return news;
}

}  // namespace muster
