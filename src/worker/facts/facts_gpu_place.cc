// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_gpu_place.h"

#include "base/text.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

int numa_of(const std::string& root, const std::string& pci) {
  const auto numa =
      read_sys_number(root + "/sys/bus/pci/devices/" + pci + "/numa_node");
  return numa && *numa >= 0 && *numa < (1 << 20) ? static_cast<int>(*numa) : -1;
}

// "GPU UUID:  GPU-6e…" of a driver's information file; "" if there is none or
// the driver has not read it yet ("GPU-????????-…").
std::string uuid_in(const std::string& information) {
  for (const auto line : split(information, '\n')) {
    if (!line.starts_with("GPU UUID")) continue;
    const auto value = trim(line.substr(line.find(':') + 1));
    return value.find('?') == value.npos ? std::string(value) : "";
  }
  return "";
}

}  // namespace

std::vector<GpuPlace> nvidia_places(const std::string& root,
                                    const std::vector<std::string>& mig,
                                    size_t count) {
  const std::string base = root + "/proc/driver/nvidia/gpus";
  std::vector<GpuPlace> gpus;  // by PCI address, a choice of CUDA_DEVICE_ORDER
  const auto names = list_sys(base);
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    GpuPlace place;
    place.pci = to_lower(name);
    place.numa = numa_of(root, place.pci);
    place.id = uuid_in(read_sys(base + "/" + name + "/information").text);
    gpus.push_back(std::move(place));
  }
  std::vector<GpuPlace> out;
  for (const std::string& slice : mig) {
    // A slice's name does not say on which GPU it is; with one it is clear.
    out.push_back({slice, gpus.size() == 1 ? gpus[0].pci : "",
                   gpus.size() == 1 ? gpus[0].numa : -1});
  }
  if (!mig.empty()) return out;
  // The driver may show the whole machine's GPUs: then which are ours is not
  // known, and neither are their names.
  if (gpus.size() != count) gpus.assign(count, {});
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].id.empty()) gpus[i].id = std::to_string(i);
  }
  return gpus;
}

std::vector<GpuPlace> render_places(const std::string& root,
                                    const std::vector<std::string>& devices) {
  std::vector<GpuPlace> out;
  for (const std::string& device : devices) {
    GpuPlace place;
    place.id = std::to_string(out.size());
    place.pci = link_name(root + "/sys/class/drm/" +
                          device.substr(device.rfind('/') + 1) + "/device");
    if (!place.pci.empty()) place.numa = numa_of(root, place.pci);
    out.push_back(std::move(place));
  }
  return out;
}

}  // namespace muster
