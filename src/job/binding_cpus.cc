// SPDX-License-Identifier: Apache-2.0
// Each way to bind is one function from the node to the CPUs of each local
// rank, or to the reason why not.
#include "job/binding_cpus.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster {

namespace {

void add_cpus(const CpuCore& core, std::vector<int>& out) {
  out.insert(out.end(), core.cpus.begin(), core.cpus.end());
}

int cpu_count(const BindNode& node) {
  size_t count = 0;
  for (const CpuCore& core : node.cores) count += core.cpus.size();
  return static_cast<int>(count);
}

// By memory, then as the kernel counts: neighbours in rank are near.
std::vector<CpuCore> in_order(std::vector<CpuCore> cores) {
  std::sort(cores.begin(), cores.end(), [](const CpuCore& a, const CpuCore& b) {
    return std::tie(a.numa, a.package, a.cpus) <
           std::tie(b.numa, b.package, b.cpus);
  });
  return cores;
}

Finding not_bound(const BindNode& node, const std::string& why,
                  const std::string& evidence, const std::string& remedy) {
  return {Severity::kWarning, "not_bound",
          "ranks on " + node.host + " are not bound to CPUs: " + why, evidence,
          remedy};
}

CpuChoice by_core(const BindNode& node, int each) {
  const auto wanted =
      static_cast<size_t>(node.ranks) * static_cast<size_t>(each);
  if (wanted > node.cores.size()) {
    return tl::unexpected(
        not_bound(node, "there are fewer cores than they need",
                  std::to_string(wanted) + " wanted, " +
                      std::to_string(node.cores.size()) + " cores",
                  "use fewer ranks per node, or --bind-to none"));
  }
  CpuSets out(static_cast<size_t>(node.ranks));
  const std::vector<CpuCore> cores = in_order(node.cores);
  for (size_t i = 0; i < wanted; ++i) {
    add_cpus(cores[i], out[i / static_cast<size_t>(each)]);
  }
  return out;
}

CpuChoice by_numa(const BindNode& node) {
  std::map<int, std::vector<int>> numas;
  for (const CpuCore& core : node.cores) add_cpus(core, numas[core.numa]);
  CpuSets out;
  for (int rank = 0; rank < node.ranks; ++rank) {
    const auto index = static_cast<int64_t>(rank) *
                       static_cast<int64_t>(numas.size()) / node.ranks;
    out.push_back(std::next(numas.begin(), index)->second);
  }
  return out;
}

// Divides the cores beside a GPU evenly among the ranks that use a GPU there.
CpuChoice by_gpu(const BindNode& node) {
  std::map<int, std::vector<CpuCore>> cores;
  for (const CpuCore& core : in_order(node.cores)) {
    cores[core.numa].push_back(core);
  }
  std::map<int, std::vector<size_t>> ranks;  // by NUMA node of their GPU
  for (int rank = 0; rank < node.ranks && !node.gpus.empty(); ++rank) {
    ranks[node.gpus[own_gpu(node, rank)].numa].push_back(
        static_cast<size_t>(rank));
  }
  if (ranks.empty()) {
    return tl::unexpected(not_bound(node, "it has no GPU to bind near to", "",
                                    "use --bind-to core, numa or none"));
  }
  CpuSets out(static_cast<size_t>(node.ranks));
  for (const auto& [numa, here] : ranks) {
    const std::vector<CpuCore>& near = cores[numa];
    const size_t each = near.size() / here.size();
    if (each == 0) {
      return tl::unexpected(
          not_bound(node,
                    numa < 0 ? "where its GPUs are is unknown"
                             : "the pod has too few cores near its GPUs",
                    "NUMA node " + std::to_string(numa) + ": " +
                        std::to_string(near.size()) + " cores, " +
                        std::to_string(here.size()) + " ranks",
                    "give the pod CPUs of that node (topology manager policy "
                    "single-numa-node or best-effort), or use --bind-to none"));
    }
    for (size_t i = 0; i < each * here.size(); ++i) {
      add_cpus(near[i], out[here[i / each]]);
    }
  }
  return out;
}

}  // namespace

size_t own_gpu(const BindNode& node, int rank) {
  return static_cast<size_t>(rank) % node.gpus.size();
}

CpuChoice choose_cpus(const BindRequest& request, const BindNode& node) {
  if (node.cores.empty()) {
    return tl::unexpected(
        not_bound(node, "its cores are unknown", "", "use --bind-to none"));
  }
  // The quota's time runs out on every CPU alike; bound ranks then wait for one
  // whose time others have used up (a barrier waits for the slowest).
  if (node.cpu_quota > 0 && node.cpu_quota < cpu_count(node) - 1e-3) {
    const std::string quota = std::to_string(node.cpu_quota);
    return tl::unexpected(not_bound(
        node, "a CPU quota limits the pod, not a set of CPUs",
        "quota " + quota.substr(0, quota.find('.') + 2) + ", CPUs " +
            std::to_string(cpu_count(node)),
        "let the kubelet give whole CPUs (cpuManagerPolicy: static, integer "
        "requests equal to limits), or use --bind-to none"));
  }
  switch (request.to) {
    case BindTo::kCore:
      return by_core(node, request.cores_per_rank);
    case BindTo::kNuma:
      return by_numa(node);
    case BindTo::kGpu:
      return by_gpu(node);
    case BindTo::kNone:
      break;
  }
  return CpuSets(static_cast<size_t>(node.ranks));
}

std::set<int> numas_of(const BindNode& node, const std::vector<int>& cpus) {
  std::set<int> out;
  for (const CpuCore& core : node.cores) {
    if (!core.cpus.empty() &&
        std::binary_search(cpus.begin(), cpus.end(), core.cpus[0])) {
      out.insert(core.numa);
    }
  }
  return out;
}

}  // namespace muster
