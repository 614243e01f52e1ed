// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_topology.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMostRanges = 8;

std::string count(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

int usable_cpus(const NodeFacts& facts) {
  if (facts.cpu_quota <= 0) return facts.cpus_allowed;
  return std::max(1, static_cast<int>(facts.cpu_quota));
}

}  // namespace

std::string ranks_on(const std::vector<RankEvidence>& ranks, int node) {
  std::vector<int> numbers;
  for (const RankEvidence& rank : ranks) {
    if (rank.node == node && rank.rank >= 0) numbers.push_back(rank.rank);
  }
  return ranks_text(std::move(numbers));
}

std::string ranks_text(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> ranges;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() &&
           numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    ranges.push_back(std::to_string(numbers[i]) +
                     (last > i ? "-" + std::to_string(numbers[last]) : ""));
    i = last + 1;
  }
  if (ranges.size() > kMostRanges) {
    ranges.resize(kMostRanges);
    ranges.emplace_back("…");
  }
  return join(ranges, ", ");
}

std::string machine_text(const NodeFacts& facts) {
  std::vector<std::string> parts;
  if (facts.gpu.count > 0) parts.push_back(count(facts.gpu.count, "GPU"));
  if (usable_cpus(facts) > 0) parts.push_back(count(usable_cpus(facts), "CPU"));
  if (facts.memory_limit > 0) {
    parts.push_back(human_bytes(static_cast<uint64_t>(facts.memory_limit)));
  }
  if (!facts.mpi.family.empty()) {
    parts.push_back(facts.mpi.family + " " + facts.mpi.version);
  }
  if (!facts.cuda_driver.empty())
    parts.push_back("driver " + facts.cuda_driver);
  for (const NetInterface& interface : facts.interfaces) {
    if (!interface.up || interface.addresses.empty()) continue;
    if (interface.name == "lo") continue;
    const std::string& address = interface.addresses[0];
    parts.push_back(interface.name + " " +
                    address.substr(0, address.find('/')));
  }
  return join(parts, ", ");
}

}  // namespace muster
