// SPDX-License-Identifier: Apache-2.0
// GPUs from kernel files: NVIDIA by its driver's /proc tree, AMD and Intel by
// their PCI devices. No GPU library is needed.
#include <algorithm>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

constexpr std::string_view kNvidiaVendor = "0x10de";
constexpr std::string_view kAmdVendor = "0x1002";
constexpr std::string_view kIntelVendor = "0x8086";

std::string class_of(const std::string& root, const std::string& name) {
  return read_sys(pci_bus_directory(root) + "/" + name + "/class").text;
}

// "Model:   NVIDIA H100" -> the text behind the colon.
std::string field_of(const std::string& text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    if (colon != line.npos) return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

void locate(const std::string& root, FabricGpu& gpu) {
  const std::string path = root + "/sys/bus/pci/devices/" + gpu.pci;
  gpu.pci_path = device_path(path);
  if (const auto numa = read_sys_number(path + "/numa_node")) {
    gpu.numa = static_cast<int>(std::min<int64_t>(*numa, 1 << 20));
  }
}

// NVSwitches up to Hopper are PCI bridges of NVIDIA; their /dev entry is
// seldom in a pod.
bool any_nvswitch(const std::string& root, const PciBus& bus) {
  return bus &&
         std::any_of(bus->begin(), bus->end(), [&](const PciFunction& one) {
           return one.vendor == kNvidiaVendor &&
                  class_of(root, one.name).starts_with("0x0680");
         });
}

void collect_nvidia(const std::string& root, const PciBus& bus,
                    PodFabric& pod) {
  const std::string base = root + "/proc/driver/nvidia";
  const auto names = list_sys(base + "/gpus");
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    FabricGpu gpu;
    gpu.vendor = "nvidia";
    gpu.pci = to_lower(name);
    gpu.name = field_of(read_sys(base + "/gpus/" + name + "/information").text,
                        "Model");
    locate(root, gpu);
    pod.gpus->push_back(std::move(gpu));
  }
  // "… Kernel Module  550.54.15  Tue …"
  const std::string version = read_sys(base + "/version").text;
  for (const auto word : split_words(version)) {
    const auto parts = split(word, '.');
    const bool numbers = parts.size() >= 2 &&
                         std::all_of(parts.begin(), parts.end(), [](auto part) {
                           return parse_integer(part).has_value();
                         });
    if (numbers && pod.gpu_driver.empty()) pod.gpu_driver = word;
  }
  if (names && !names->empty()) {
    const std::string dev = root + "/dev/";
    pod.nvswitch =
        sys_exists(dev + "nvidia-nvswitchctl") || any_nvswitch(root, bus);
    pod.imex_channel = !list_sys(dev + "nvidia-caps-imex-channels")
                            .value_or(std::vector<std::string>{})
                            .empty();
  }
}

bool is_accelerator(const std::string& kind) {
  return kind.starts_with("0x0302") || kind.starts_with("0x0380") ||
         kind.starts_with("0x1200") || kind.starts_with("0x0300");
}

void collect_other(const std::string& root, const PciBus& bus, PodFabric& pod) {
  if (!bus) return;
  for (const auto& [name, vendor] : *bus) {
    if (vendor != kAmdVendor && vendor != kIntelVendor) continue;
    if (!is_accelerator(class_of(root, name))) continue;
    const std::string driver =
        link_name(pci_bus_directory(root) + "/" + name + "/driver");
    const bool amd = driver == "amdgpu";
    const bool intel = driver == "i915" || driver == "xe";
    if (!amd && !intel) continue;
    FabricGpu gpu;
    gpu.vendor = amd ? "amd" : "intel";
    gpu.pci = name;
    locate(root, gpu);
    pod.gpus->push_back(std::move(gpu));
  }
}

}  // namespace

void collect_gpus(const std::string& root, const PciBus& bus, PodFabric& pod) {
  if (!sys_exists(root + "/sys/class")) return;
  pod.gpus.emplace();
  collect_nvidia(root, bus, pod);
  collect_other(root, bus, pod);
}

}  // namespace muster
