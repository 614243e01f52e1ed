// SPDX-License-Identifier: Apache-2.0
// The few entry points of NVML and the CUDA driver that are asked, without
// their headers: they have had this form since CUDA 11. The libraries are
// opened at run time, in processes of their own, since a sick GPU may hold them
// for ever.
#pragma once

#include <dlfcn.h>

#include <array>
#include <utility>

namespace muster {

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
constexpr unsigned kMostGpus = 64;

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;  // percent of the last second or less
};

// nvmlClocksThrottleReason…: only those that tell of trouble, not the power
// cap or idling.
constexpr std::array kNvmlSlowdowns = {
    std::pair{0x08ULL, "hardware"}, std::pair{0x20ULL, "thermal"},
    std::pair{0x40ULL, "thermal"}, std::pair{0x80ULL, "power brake"}};

// Calls NAME with these arguments; false if it is not there or fails.
template <class... Arguments>
bool ask_driver(void* library, const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr && function(arguments...) == 0;
}

}  // namespace muster
