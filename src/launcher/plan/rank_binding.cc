// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/rank_binding.h"

#include <algorithm>
#include <map>
#include <set>

#include "fabric/facts/facts_json.h"
#include "fabric/facts/pci_distance.h"
#include "job/cpu_list.h"

namespace muster {

namespace {

// Adapters, and how far each GPU is from them.
void add_network(const std::string& facts_json, const std::vector<GpuPlace>& at,
                 BindNode& node) {
  if (facts_json.empty()) return;
  const auto file = read_facts(facts_json, node.host);
  if (!file) return;  // choose_fabric has said so
  const PodFabric& pod = file->pods[0];
  const auto hcas = pod.hcas.value_or(std::vector<FabricHca>{});
  for (const FabricHca& hca : hcas) node.nics.push_back({hca.name, hca.numa});
  const auto gpus = pod.gpus.value_or(std::vector<FabricGpu>{});
  for (const FabricGpu& gpu : gpus) {
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      if (at[i].pci.empty() || at[i].pci != gpu.pci) continue;
      for (const FabricHca& hca : hcas) {
        node.gpus[i].nics[hca.name] = gpu_distance(gpu, hca);
      }
    }
  }
}

BindNode bind_node_of(const PlannedNode& planned, const NodeFacts& facts) {
  BindNode node;
  node.host = planned.name;
  node.ranks = static_cast<int>(planned.ranks.size());
  node.cpu_quota = facts.cpu_quota;
  node.cores = facts.cores;
  node.gpu_vendor = facts.gpu.vendor;
  for (const GpuPlace& place : facts.gpu.places) {
    node.gpus.push_back({place.id, place.numa, {}});
  }
  add_network(facts.fabric, facts.gpu.places, node);
  return node;
}

// The variable by which GPUs of this node were chosen; "": none.
std::string chosen_already(const BindNode& node, const Environment& visible) {
  for (const std::string& name : gpu_variables(node.gpu_vendor)) {
    if (find_env(visible, name) != nullptr) return name;
  }
  return "";
}

std::string numa_text(const BindNode& node, const std::vector<int>& cpus) {
  std::set<int> numas;
  for (const CpuCore& core : node.cores) {
    if (!core.cpus.empty() &&
        std::find(cpus.begin(), cpus.end(), core.cpus[0]) != cpus.end()) {
      numas.insert(core.numa);
    }
  }
  return cpu_list_text({numas.begin(), numas.end()});
}

}  // namespace

JobBinding bind_job(const BindRequest& request, const Plan& plan,
                    const std::vector<const NodeFacts*>& facts,
                    const std::vector<Environment>& visible) {
  JobBinding out;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    BindNode node = bind_node_of(plan.nodes[i], *facts[i]);
    BindRequest here = request;
    const std::string fixed = chosen_already(node, visible[i]);
    if (!fixed.empty()) here.gpus = GpuBind::kNone;
    out.bound.push_back(bind_node(here, node));
    if (!fixed.empty() && request.gpus != GpuBind::kNone) {
      out.bound.back().findings.push_back(
          {Severity::kWarning, "gpus_chosen_already",
           "--gpu-bind changes nothing on " + node.host + ": " + fixed +
               " is set",
           "", "take the variable out of the pod or the command line"});
    }
    out.nodes.push_back(std::move(node));
  }
  return out;
}

Environment binding_variables(const JobBinding& job, const PlannedRank& rank) {
  return binding_environment(job.nodes[static_cast<size_t>(rank.node)],
                             job.of(rank));
}

std::vector<Finding> binding_findings(const JobBinding& job) {
  std::vector<Finding> out;
  std::map<std::string, int> more;  // by code
  for (const NodeBinding& node : job.bound) {
    for (const Finding& finding : node.findings) {
      const auto [count, first] = more.try_emplace(finding.code, 0);
      if (first) {
        out.push_back(finding);
      } else {
        ++count->second;
      }
    }
  }
  for (Finding& finding : out) {
    const int others = more[finding.code];
    if (others > 0) {
      finding.text += " (and likewise on " + std::to_string(others) + " more)";
    }
  }
  return out;
}

std::vector<std::string> map_lines(const Plan& plan, const JobBinding& job) {
  std::vector<std::string> lines;
  for (const PlannedRank& rank : plan.ranks) {
    const auto home = static_cast<size_t>(rank.node);
    const BindNode& node = job.nodes[home];
    const RankBinding& bound = job.of(rank);
    std::string line = "rank " + std::to_string(rank.rank) + "  " +
                       plan.nodes[home].name + "  ";
    line += bound.cpus.empty()
                ? std::string(job.by_mpi ? "mpirun binds" : "not bound")
                : "cpus " + cpu_list_text(bound.cpus) + " (numa " +
                      numa_text(node, bound.cpus) + ")";
    for (const size_t gpu : bound.gpus) line += "  gpu " + node.gpus[gpu].id;
    if (bound.gpus.empty() && !bound.near_gpu.empty()) {
      line += "  near gpu " + bound.near_gpu;
    }
    if (!bound.near_nic.empty()) line += "  near nic " + bound.near_nic;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace muster
