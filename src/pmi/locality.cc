// SPDX-License-Identifier: Apache-2.0
#include "pmi/locality.h"

#include <functional>
#include <set>

#include "job/cpu_list.h"

namespace muster {

namespace {

CpuPlace place_of(const CpuPlaces& places, int cpu) {
  const auto found = places.find(cpu);
  return found == places.end() ? CpuPlace{} : found->second;
}

}  // namespace

std::string locality_text(const CpuPlaces& places,
                          const std::vector<int>& cpus) {
  std::string out;
  const auto add = [&](const char* kind,
                       const std::function<int(int cpu)>& label_of) {
    std::set<int> labels;
    for (const int cpu : cpus) {
      if (const int label = label_of(cpu); label >= 0) labels.insert(label);
    }
    if (labels.empty()) return;
    if (!out.empty()) out += ':';
    out += kind + cpu_list_text({labels.begin(), labels.end()});
  };
  const auto place = [&places](int cpu) { return place_of(places, cpu); };
  // In the order of hwloc, with memory, which is not a level there, last.
  add("SK", [&](int cpu) { return place(cpu).package; });
  add("L3", [&](int cpu) { return place(cpu).caches[2]; });
  add("L2", [&](int cpu) { return place(cpu).caches[1]; });
  add("L1", [&](int cpu) { return place(cpu).caches[0]; });
  add("CR", [&](int cpu) { return place(cpu).core; });
  add("HT", [&](int cpu) { return cpu; });
  add("NM", [&](int cpu) { return place(cpu).numa; });
  return out;
}

std::vector<int> package_ranks(const CpuPlaces& places,
                               const std::vector<std::vector<int>>& cpus) {
  std::vector<int> out;
  std::map<int, int> ranks;  // by package
  for (const std::vector<int>& own : cpus) {
    const int package = own.empty() ? -1 : place_of(places, own[0]).package;
    out.push_back(package < 0 ? -1 : ranks[package]++);
  }
  return out;
}

}  // namespace muster
