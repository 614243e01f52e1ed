// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_gpu.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "worker/facts/facts_gpu_place.h"

namespace muster {

namespace {

// PCI vendor ids as sysfs writes them.
constexpr std::string_view kAmd = "0x1002";
constexpr std::string_view kIntel = "0x8086";

// Names in `directory` that are `prefix` and a number, by that number.
std::vector<std::string> numbered(const std::string& directory,
                                  std::string_view prefix) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (std::string& name : names_in(directory)) {
    if (!name.starts_with(prefix)) continue;
    const auto number =
        parse_integer(std::string_view(name).substr(prefix.size()));
    if (number && *number >= 0) found.emplace_back(*number, std::move(name));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> mig_slices(const std::string& nvidia_visible) {
  std::vector<std::string> slices;
  for (const auto part : split(nvidia_visible, ',')) {
    if (trim(part).starts_with("MIG-")) slices.emplace_back(trim(part));
  }
  return slices;
}

std::vector<std::string> render_nodes(const std::string& root,
                                      std::string_view vendor) {
  std::vector<std::string> devices;
  for (const std::string& name : numbered(root + "/dev/dri", "renderD")) {
    const auto id =
        read_file(root + "/sys/class/drm/" + name + "/device/vendor", 64);
    if (id && trim(*id) == vendor) devices.push_back("/dev/dri/" + name);
  }
  return devices;
}

GpuFacts make(const char* vendor, std::vector<std::string> devices) {
  GpuFacts out;
  if (devices.empty()) return out;
  out.vendor = vendor;
  out.count = static_cast<int>(devices.size());
  out.devices = std::move(devices);
  return out;
}

}  // namespace

GpuFacts find_gpus(const std::string& root, const std::string& nvidia_visible) {
  std::vector<std::string> nvidia;
  for (const std::string& name : numbered(root + "/dev", "nvidia")) {
    nvidia.push_back("/dev/" + name);
  }
  if (!nvidia.empty()) {
    auto slices = mig_slices(nvidia_visible);
    auto places = nvidia_places(root, slices, nvidia.size());
    GpuFacts out =
        make("nvidia", slices.empty() ? std::move(nvidia) : std::move(slices));
    out.places = std::move(places);
    return out;
  }
  // Without the compute interface an AMD render node is only a display.
  if (::access((root + "/dev/kfd").c_str(), F_OK) == 0) {
    if (auto amd = render_nodes(root, kAmd); !amd.empty()) {
      auto places = render_places(root, amd);
      GpuFacts out = make("amd", std::move(amd));
      out.places = std::move(places);
      return out;
    }
  }
  auto intel = render_nodes(root, kIntel);
  auto places = render_places(root, intel);
  GpuFacts out = make("intel", std::move(intel));
  out.places = std::move(places);
  return out;
}

std::string nvidia_driver_version(const std::string& root) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …": the
  // words differ between the two kernel modules, the first version is ours.
  const auto text = read_file(root + "/proc/driver/nvidia/version", 4096);
  if (!text) return "";
  for (const auto word : split_words(*text)) {
    const auto parts = split(word, '.');
    if (parts.size() < 2 || parts.size() > 3) continue;
    if (std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
          return parse_integer(part).has_value();
        })) {
      return std::string(word);
    }
  }
  return "";
}

}  // namespace muster
