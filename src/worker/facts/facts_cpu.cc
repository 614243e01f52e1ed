// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_cpu.h"

#include <sched.h>

#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "base/cpu_mask.h"
#include "base/fd.h"
#include "base/text.h"
#include "fabric/collect/sys_files.h"
#include "job/cpu_list.h"

namespace muster {

namespace {

int number_in(const std::string& path) {
  const auto value = read_sys_number(path);
  return value && *value >= 0 && *value < (1 << 20) ? static_cast<int>(*value)
                                                    : -1;
}

// CPU -> NUMA node.
std::map<int, int> numa_nodes(const std::string& root) {
  const std::string base = root + "/sys/devices/system/node";
  std::map<int, int> out;
  const auto names = list_sys(base);
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    const auto number = name.starts_with("node")
                            ? parse_int(std::string_view(name).substr(4))
                            : std::nullopt;
    if (!number) continue;
    const auto cpus =
        parse_cpu_list(read_sys(base + "/" + name + "/cpulist").text);
    for (const int cpu : cpus.value_or(std::vector<int>{})) {
      out[cpu] = *number;
    }
  }
  return out;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  // A fixed cpu_set_t fails with EINVAL on machines with more CPUs than it.
  for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const bool known = ::sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; known && cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) out.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) break;
  }
  return out;
}

std::vector<std::vector<int>> bindable_cpus(
    const std::vector<std::vector<int>>& wanted) {
  std::vector<std::vector<int>> out(wanted.size());
  try {
    std::thread([&] {
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].empty() || bind_to(cpu_mask(wanted[i])) != 0) continue;
        out[i] = allowed_cpus();
      }
    }).join();
  } catch (const std::system_error&) {
    // No thread to try it on: nothing is promised.
  }
  return out;
}

std::vector<CpuCore> read_cores(const std::string& root,
                                const std::vector<int>& allowed) {
  const std::map<int, int> numas = numa_nodes(root);
  // Hardware threads of one core have the same list of siblings.
  std::map<std::string, size_t> known;
  std::vector<CpuCore> out;
  for (const int cpu : allowed) {
    const std::string base = root + "/sys/devices/system/cpu/cpu" +
                             std::to_string(cpu) + "/topology/";
    std::string siblings = read_sys(base + "thread_siblings_list").text;
    if (siblings.empty()) siblings = std::to_string(cpu);
    const auto [entry, first] = known.try_emplace(siblings, out.size());
    if (first) {
      const auto numa = numas.find(cpu);
      out.push_back({{},
                     numa == numas.end() ? 0 : numa->second,
                     number_in(base + "physical_package_id")});
    }
    out[entry->second].cpus.push_back(cpu);
  }
  return out;
}

}  // namespace muster
