// SPDX-License-Identifier: Apache-2.0
// NVML and the CUDA driver, asked in forked children; a function that the
// library lacks, or that refuses, leaves its fact unknown. Lines: "driver V",
// "cuda N", "gpu PCI FIELD VALUE".
#include <algorithm>
#include <array>
#include <climits>
#include <functional>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/collect/nvml.h"

namespace muster {

namespace {

constexpr unsigned kNvLinks = 18;

struct NvmlFabric {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};

using Say = std::function<void(const std::string&)>;

constexpr int kGpuIsLost = 15;

// The values that change all the time. False: the GPU does not answer.
bool ask_now(void* nvml, void* device, const std::string& pci, const Say& say) {
  NvmlUtilization busy{};
  const int code =
      call_driver(nvml, "nvmlDeviceGetUtilizationRates", device, &busy);
  if (pci.empty() || code == kGpuIsLost) return false;
  const auto tell = [&](const char* field, unsigned long long value) {
    say("gpu " + pci + " " + field + " " + std::to_string(value));
  };
  tell("seen", 1);
  if (code == 0) tell("busy", busy.gpu);
  if (const auto memory = nvml_memory(nvml, device)) {
    tell("memory", memory->total);
    tell("used", memory->used);
  }
  return true;
}

template <class Tell>
void ask_health(void* nvml, void* device, Tell tell) {
  unsigned long long reasons = 0;
  if (ask_driver(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", device,
                 &reasons)) {
    for (const auto& [bit, word] : kNvmlSlowdowns) {
      if ((reasons & bit) != 0) tell("slowdown", word);
    }
  }
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (ask_driver(nvml, "nvmlDeviceGetRemappedRows", device, &corrected,
                 &uncorrected, &pending, &failed)) {
    tell("remap_pending", pending != 0 ? "1" : "0");
    tell("remap_failed", failed != 0 ? "1" : "0");
  }
}

constexpr std::array kFabricStates = {"not supported", "not started",
                                      "in progress", "completed"};

template <class Tell>
void ask_fabric(void* nvml, void* device, Tell tell) {
  NvmlFabric fabric{};
  if (!ask_driver(nvml, "nvmlDeviceGetGpuFabricInfo", device, &fabric)) return;
  if (fabric.state < kFabricStates.size()) {
    tell("fabric_state", kFabricStates[fabric.state]);
  }
  if (fabric.state != kFabricStates.size() - 1) return;  // nothing else counts
  tell("fabric_status", std::to_string(fabric.status));
  std::string cluster;
  for (const unsigned char byte : fabric.cluster) {
    for (const int digit : {byte >> 4, byte & 15}) {
      cluster += "0123456789abcdef"[digit];
    }
  }
  tell("fabric_cluster", cluster);
  tell("fabric_clique", std::to_string(fabric.clique));
}

void ask_device(void* nvml, void* device, const Say& say) {
  const std::string pci = nvml_pci(nvml, device);
  if (!ask_now(nvml, device, pci, say)) return;
  const auto tell = [&](const char* field, const std::string& value) {
    say("gpu " + pci + " " + field + " " + value);
  };
  std::array<char, 96> name{};
  if (ask_driver(nvml, "nvmlDeviceGetName", device, name.data(), 95U)) {
    tell("name", name.data());
  }
  unsigned mig = 0;
  unsigned pending = 0;
  if (ask_driver(nvml, "nvmlDeviceGetMigMode", device, &mig, &pending)) {
    tell("mig", mig != 0 ? "1" : "0");
  }
  int major = 0;
  int minor = 0;
  if (ask_driver(nvml, "nvmlDeviceGetCudaComputeCapability", device, &major,
                 &minor)) {
    tell("capability", std::to_string(major * 10 + minor));
  }
  unsigned long long errors = 0;  // 1: uncorrected; 0: since the last load
  if (ask_driver(nvml, "nvmlDeviceGetTotalEccErrors", device, 1, 0, &errors)) {
    tell("ecc", std::to_string(errors));
  }
  ask_health(nvml, device, tell);
  ask_fabric(nvml, device, tell);
  for (unsigned link = 0; link < kNvLinks; ++link) {
    int active = 0;
    if (!ask_driver(nvml, "nvmlDeviceGetNvLinkState", device, link, &active))
      continue;
    tell("nvlink", active != 0 ? "1" : "0");
    if (active != 0) break;
  }
}

template <class Ask>
void each_device(void* nvml, Ask ask) {
  unsigned count = 0;
  if (!ask_driver(nvml, "nvmlDeviceGetCount_v2", &count)) return;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    void* device = nullptr;
    if (ask_driver(nvml, "nvmlDeviceGetHandleByIndex_v2", i, &device)) {
      ask(device);
    }
  }
}

// A line at a time: what was said before a driver hangs counts.
void ask_nvml(void* nvml, const Say& say) {
  std::array<char, 96> version{};
  if (ask_driver(nvml, "nvmlSystemGetDriverVersion", version.data(), 95U)) {
    say(std::string("driver ") + version.data());
  }
  int cuda = 0;
  if (ask_driver(nvml, "nvmlSystemGetCudaDriverVersion_v2", &cuda)) {
    say("cuda " + std::to_string(cuda));
  }
  each_device(nvml, [&](void* device) { ask_device(nvml, device, say); });
}

// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, …_DMA_BUF_SUPPORTED,
// …_MULTICAST_SUPPORTED. A driver that does not know one refuses.
constexpr int kGpuDirect = 116;
constexpr int kDmaBuf = 124;
constexpr int kMulticast = 132;

void ask_cuda(const std::string& path, int out) {
  void* cuda = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (cuda == nullptr) return;
  int version = 0;
  if (ask_driver(cuda, "cuDriverGetVersion", &version)) {
    probe_says(out, "cuda " + std::to_string(version));
  }
  int count = 0;
  if (!ask_driver(cuda, "cuInit", 0U) ||
      !ask_driver(cuda, "cuDeviceGetCount", &count)) {
    return;
  }
  for (int i = 0; i < std::min(count, static_cast<int>(kMostGpus)); ++i) {
    int device = 0;
    std::array<char, 32> id{};
    if (!ask_driver(cuda, "cuDeviceGet", &device, i) ||
        !ask_driver(cuda, "cuDeviceGetPCIBusId", id.data(), 31, device)) {
      continue;
    }
    for (const auto& [field, number] :
         {std::pair("gdr", kGpuDirect), std::pair("dmabuf", kDmaBuf),
          std::pair("multicast", kMulticast)}) {
      int value = 0;
      if (!ask_driver(cuda, "cuDeviceGetAttribute", &value, number, device))
        continue;
      probe_says(out, "gpu " + short_pci(id.data()) + " " + field +
                          (value != 0 ? " 1" : " 0"));
    }
  }
}

FabricGpu& gpu_at(PodFabric& pod, std::string_view pci) {
  if (!pod.gpus) pod.gpus.emplace();
  for (FabricGpu& gpu : *pod.gpus) {
    if (gpu.pci == pci) return gpu;
  }
  FabricGpu& gpu = pod.gpus->emplace_back();
  gpu.vendor = "nvidia";
  gpu.pci = pci;
  return gpu;
}

// The PCI addresses in the lines.
std::vector<std::string> take_lines(const std::string& text, PodFabric& pod) {
  std::vector<std::string> seen;
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == "driver") pod.gpu_driver = words[1];
    if (words.size() == 2 && words[0] == "cuda") {
      const int64_t number = parse_integer(words[1]).value_or(-1);
      if (number < 0 || number > INT_MAX) continue;
      pod.cuda_version = std::to_string(number / 1000) + "." +
                         std::to_string(number % 1000 / 10);
    }
    if (words.size() < 4 || words[0] != "gpu") continue;
    const size_t value = line.find(words[2]) + words[2].size() + 1;
    take_gpu_field(gpu_at(pod, words[1]), words[2], line.substr(value));
    if (words[2] == "seen") seen.emplace_back(words[1]);
  }
  return seen;
}

}  // namespace

void take_gpu_field(FabricGpu& gpu, std::string_view field,
                    std::string_view value) {
  if (field == "name") gpu.name = value;
  if (field == "fabric_state") gpu.fabric_state = value;
  if (field == "fabric_cluster") gpu.fabric_cluster = value;
  if (field == "slowdown" && std::find(gpu.slowdown.begin(), gpu.slowdown.end(),
                                       value) == gpu.slowdown.end()) {
    gpu.slowdown.emplace_back(value);
  }
  const auto number = parse_integer(value);
  if (!number) return;
  const auto amount = [&](std::string_view name, int64_t& out) {
    if (field == name && *number >= 0) out = *number;
  };
  const auto small = [&](std::string_view name, int& out) {
    if (field == name && *number >= 0 && *number <= INT_MAX) {
      out = static_cast<int>(*number);
    }
  };
  const auto flag = [&](std::string_view name, Known& out) {
    if (field == name) out = *number != 0;
  };
  amount("memory", gpu.memory_bytes);
  amount("used", gpu.memory_used_bytes);
  amount("ecc", gpu.ecc_errors);
  small("busy", gpu.utilization);
  small("capability", gpu.compute_capability);
  small("fabric_status", gpu.fabric_status);
  small("fabric_clique", gpu.fabric_clique);
  flag("mig", gpu.mig);
  flag("remap_pending", gpu.remap_pending);
  flag("remap_failed", gpu.remap_failed);
  flag("nvlink", gpu.nvlink);
  flag("gdr", gpu.gdr);
  flag("dmabuf", gpu.dmabuf);
  flag("multicast", gpu.multicast);
}

std::string nvml_lines(void* nvml) {
  std::string out;
  ask_nvml(nvml, [&out](const std::string& line) { out += line + "\n"; });
  return out;
}

std::string nvml_lines_now(void* nvml) {
  std::string out;
  const Say say = [&out](const std::string& line) { out += line + "\n"; };
  each_device(nvml, [&](void* device) {
    static_cast<void>(ask_now(nvml, device, nvml_pci(nvml, device), say));
  });
  return out;
}

std::string ask_cuda_in_child(const GpuLibraries& libraries, ProbeEnd end) {
  return probe_in_child(patience_until(end),
                        [&](int out) { ask_cuda(libraries.cuda, out); })
      .text;
}

void take_gpu_answers(const std::string& lines, const std::string& there,
                      PodFabric& pod) {
  take_lines(lines, pod);
  const auto seen = take_lines(there, pod);
  if (seen.empty()) return;
  std::erase_if(*pod.gpus, [&](const FabricGpu& gpu) {
    return gpu.vendor == "nvidia" &&
           std::find(seen.begin(), seen.end(), gpu.pci) == seen.end();
  });
}

void probe_gpus(const GpuLibraries& libraries, ProbeEnd end, PodFabric& pod) {
  const auto nvml = probe_in_child(patience_until(end), [&](int out) {
    void* const opened = open_nvml(libraries.nvml.c_str());
    if (opened == nullptr) return;
    ask_nvml(opened, [out](const std::string& line) { probe_says(out, line); });
  });
  take_gpu_answers(nvml.text, nvml.text, pod);
  take_gpu_answers(ask_cuda_in_child(libraries, end), {}, pod);
}

}  // namespace muster
