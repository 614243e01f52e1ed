// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/nvml.h"

#include "base/text.h"

namespace muster {

namespace {

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct NvmlPci {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

}  // namespace

void* open_nvml(const char* library) {
  void* const nvml = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return nvml != nullptr && ask_driver(nvml, "nvmlInit_v2") ? nvml : nullptr;
}

std::optional<GpuMemory> nvml_memory(void* nvml, void* device) {
  NvmlMemoryV2 split{};
  split.version = sizeof split | 2U << 24;
  if (ask_driver(nvml, "nvmlDeviceGetMemoryInfo_v2", device, &split)) {
    return GpuMemory{split.total, split.used};
  }
  NvmlMemory memory{};
  if (!ask_driver(nvml, "nvmlDeviceGetMemoryInfo", device, &memory)) return {};
  return GpuMemory{memory.total, memory.used};
}

std::string nvml_pci(void* nvml, void* device) {
  NvmlPci pci{};
  if (!ask_driver(nvml, "nvmlDeviceGetPciInfo_v3", device, &pci)) return "";
  pci.id[sizeof pci.id - 1] = 0;
  return short_pci(pci.id);
}

std::string short_pci(const char* text) {
  std::string out = to_lower(text);
  const size_t colon = out.find(':');
  if (colon != out.npos && colon > 4) out.erase(0, colon - 4);
  return out;
}

}  // namespace muster
