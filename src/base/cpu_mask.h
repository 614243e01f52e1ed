// SPDX-License-Identifier: Apache-2.0
// CPUs as sched_setaffinity() takes them, of any number: a cpu_set_t ends at
// CPU 1023. Pure, except bind_to().
#pragma once

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

namespace muster {

using CpuMask = std::vector<unsigned long>;

// `cpus` are >= 0, in any order.
inline CpuMask cpu_mask(const std::vector<int>& cpus) {
  constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  CpuMask mask;
  for (const int cpu : cpus) {
    const auto bit = static_cast<size_t>(cpu);
    mask.resize(std::max(mask.size(), bit / kBits + 1));
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  return mask;
}

// Binds the calling thread. 0, or errno: EINVAL if none of them exists.
// Async-signal-safe.
inline int bind_to(const CpuMask& mask) {
  const auto* const set = reinterpret_cast<const cpu_set_t*>(mask.data());
  const size_t bytes = mask.size() * sizeof(unsigned long);
  return ::sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
}

}  // namespace muster
