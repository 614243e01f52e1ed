// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/gpu_names.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace muster {

namespace {

// "nvidiageforcertx4090"
std::string plain(const std::string& name) {
  std::string out = to_lower(name);
  out.erase(std::remove_if(out.begin(), out.end(),
                           [](char c) { return c == ' ' || c == '-'; }),
            out.end());
  return out;
}

bool has_word(const FabricGpu& gpu, std::initializer_list<const char*> words) {
  const std::string name = plain(gpu.name);
  return std::any_of(words.begin(), words.end(), [&](const char* word) {
    return name.find(word) != std::string::npos;
  });
}

template <class Test>
bool any_gpu(const PodFabric& pod, Test test) {
  return pod.gpus && std::any_of(pod.gpus->begin(), pod.gpus->end(), test);
}

bool is_amd(const FabricGpu& gpu) {
  if (!gpu.vendor.empty()) return to_lower(gpu.vendor).starts_with("amd");
  return has_word(gpu, {"amd", "instinct", "radeon", "mi2", "mi3"});
}

}  // namespace

bool has_amd_gpus(const PodFabric& pod) {
  if (to_lower(pod.nccl_version).find("rccl") != std::string::npos) return true;
  if (pod.gpus && !pod.gpus->empty()) return any_gpu(pod, is_amd);
  return pod.plugins &&
         std::any_of(pod.plugins->begin(), pod.plugins->end(),
                     [](auto& one) { return one.name.starts_with("librccl"); });
}

bool has_intel_gpus(const PodFabric& pod) {
  return any_gpu(pod, [](const FabricGpu& gpu) {
    if (!gpu.vendor.empty()) return to_lower(gpu.vendor).starts_with("intel");
    return has_word(gpu, {"intel", "gaudi", "habana"});
  });
}

bool has_rtx40(const PodFabric& pod) {
  return any_gpu(pod, [](const FabricGpu& gpu) {
    return has_word(gpu, {"rtx40", "4090", "4080", "4070"});
  });
}

bool has_rack_nvlink(const PodFabric& pod) {
  return any_gpu(pod, [](const FabricGpu& gpu) {
    return has_word(gpu, {"gb200", "gb300"});
  });
}

bool has_nvlink_board(const PodFabric& pod) {
  return any_gpu(pod, [](const FabricGpu& gpu) {
    if (has_word(gpu, {"pcie", "nvl", "gb10"})) return false;
    return has_word(gpu, {"sxm", "h100", "h20", "h800", "b200", "b300"});
  });
}

bool has_xgmi(const PodFabric& pod) {
  return any_gpu(pod, [](const FabricGpu& gpu) {
    return is_amd(gpu) && has_word(gpu, {"mi2", "mi3"});
  });
}

bool is_blackwell(const FabricGpu& gpu) {
  return gpu.compute_capability / 10 == 10 || has_word(gpu, {"b200", "b300"});
}

bool is_rtx50(const FabricGpu& gpu) {
  if (gpu.compute_capability > 0) return gpu.compute_capability == 120;
  return has_word(gpu,
                  {"rtx5090", "rtx5080", "rtx5070", "rtxpro6000blackwell"});
}

bool is_grace(const FabricGpu& gpu) {
  return has_word(gpu, {"gh200", "gb200", "gb300", "gb10"});
}

}  // namespace muster
