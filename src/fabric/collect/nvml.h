// SPDX-License-Identifier: Apache-2.0
// The few entry points of NVML and the CUDA driver that muster calls, without
// their headers: they have had this form since CUDA 11. Opens the libraries at
// run time, in processes of their own, since a sick GPU may hold them for ever.
#pragma once

#include <dlfcn.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace muster {

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
constexpr unsigned kMostGpus = 64;

// A GPU's memory that programs use, without the driver's own part if the driver
// reports the two apart (since 510).
struct GpuMemory {
  unsigned long long total = 0, used = 0;
};
struct NvmlUtilization {
  unsigned gpu, memory;  // percent of the last second or less
};

// nvmlClocksThrottleReason…: only those that mean trouble, not the power cap or
// idling.
inline constexpr std::array kNvmlSlowdowns = {
    std::pair{0x08ULL, "hardware"}, std::pair{0x20ULL, "thermal"},
    std::pair{0x40ULL, "thermal"}, std::pair{0x80ULL, "power brake"}};

// Of no driver.
constexpr int kNoSuchFunction = -1;

// Calls NAME with these arguments: what it returns, 0 if all is well.
template <class... Arguments>
int call_driver(void* library, const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(::dlsym(library, name));
  return function == nullptr ? kNoSuchFunction : function(arguments...);
}

// The same; false if it is not there or fails.
template <class... Arguments>
bool ask_driver(void* library, const char* name, Arguments... arguments) {
  return call_driver(library, name, arguments...) == 0;
}

// NVML, started; nullptr: there is none, or it does not start.
void* open_nvml(const char* library);
// Its answers about itself and all GPUs, as lines of probe_gpus.cc; and for
// each GPU that answers the values that change all the time.
std::string nvml_lines(void* nvml);
std::string nvml_lines_now(void* nvml);

std::optional<GpuMemory> nvml_memory(void* nvml, void* device);
// "0000:1a:00.0"; "": unknown.
std::string nvml_pci(void* nvml, void* device);
// "00000000:1A:00.0" -> "0000:1a:00.0".
std::string short_pci(const char* text);

}  // namespace muster
