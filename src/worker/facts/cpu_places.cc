// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/cpu_places.h"

#include "fabric/collect/sys_files.h"
#include "job/cpu_list.h"
#include "worker/facts/facts_cpu.h"

namespace muster {

namespace {

// The kernel knows no more than four to seven of them for a CPU.
constexpr int kMostCaches = 10;

int lowest_in(const std::string& path) {
  const auto cpus = parse_cpu_list(read_sys(path).text);
  return cpus && !cpus->empty() ? cpus->front() : -1;
}

void add_caches(const std::string& base, CpuPlace& place) {
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string cache = base + "/cache/index" + std::to_string(index);
    const auto level = read_sys_number(cache + "/level");
    if (!level) return;  // they are counted without a gap
    if (*level < 1 || *level > 3 ||
        read_sys(cache + "/type").text == "Instruction") {
      continue;
    }
    place.caches[*level - 1] = lowest_in(cache + "/shared_cpu_list");
  }
}

}  // namespace

CpuPlaces read_cpu_places(const std::string& root,
                          const std::vector<int>& cpus) {
  CpuPlaces out;
  for (const CpuCore& core : read_cores(root, cpus)) {
    for (const int cpu : core.cpus) {
      const std::string base =
          root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
      CpuPlace& place = out[cpu];
      place.package = core.package;
      place.numa = core.numa;
      place.core = lowest_in(base + "/topology/thread_siblings_list");
      add_caches(base, place);
    }
  }
  return out;
}

}  // namespace muster
