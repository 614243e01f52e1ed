// SPDX-License-Identifier: Apache-2.0
// CPUs first, as GPUs may be chosen by them.
#include "job/binding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "job/binding_cpus.h"
#include "job/cpu_list.h"

namespace muster {

namespace {

// Adapters beside its GPU, else beside its CPUs; ranks take turns.
std::string near_nic(const BindNode& node, const RankBinding& binding,
                     int rank) {
  // NCCL's words, nearest first; pci_distance.h.
  static const std::vector<std::string> kNear = {"PIX", "PXB", "P2C", "PHB"};
  std::vector<std::string> found;
  if (!node.gpus.empty()) {
    const BindGpu& gpu = node.gpus[own_gpu(node, rank)];
    for (const std::string& word : kNear) {
      for (const auto& [nic, path] : gpu.nics) {
        if (path == word) found.push_back(nic);
      }
      if (!found.empty()) break;
    }
  }
  if (found.empty() && !binding.cpus.empty()) {
    const std::set<int> numas = numas_of(node, binding.cpus);
    for (const BindNic& nic : node.nics) {
      if (numas.count(nic.numa) != 0) found.push_back(nic.name);
    }
  }
  if (found.empty()) return "";
  return found[static_cast<size_t>(rank) % found.size()];
}

std::vector<size_t> choose_gpus(GpuBind how, const BindNode& node,
                                const RankBinding& binding, int rank) {
  if (node.gpus.empty() || how == GpuBind::kNone) return {};
  if (how == GpuBind::kSingle) return {own_gpu(node, rank)};
  const std::set<int> numas = numas_of(node, binding.cpus);
  std::vector<size_t> out;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    if (numas.count(node.gpus[i].numa) != 0) out.push_back(i);
  }
  return out;
}

// Ranks that --gpu-bind closest leaves as they are.
void note_far_ranks(const BindNode& node, NodeBinding& out) {
  const auto far =
      std::count_if(out.ranks.begin(), out.ranks.end(),
                    [](const RankBinding& rank) { return rank.gpus.empty(); });
  if (far == 0) return;
  const bool bound =
      std::any_of(out.ranks.begin(), out.ranks.end(),
                  [](const RankBinding& rank) { return !rank.cpus.empty(); });
  const std::string text =
      bound ? std::to_string(far) + " of " + std::to_string(node.ranks) +
                  " ranks on " + node.host +
                  " see all GPUs: none is near the CPUs they are bound to"
            : "--gpu-bind closest changes nothing on " + node.host +
                  ": its ranks are not bound to CPUs by muster";
  out.findings.push_back(
      {Severity::kWarning, "closest_to_nothing", text, "",
       bound ? "use --bind-to gpu" : "add --bind-to core, numa or gpu"});
}

}  // namespace

NodeBinding bind_node(const BindRequest& request, const BindNode& node) {
  NodeBinding out;
  CpuSets cpus(static_cast<size_t>(node.ranks));
  if (request.to != BindTo::kNone && node.ranks > 0) {
    auto chosen = choose_cpus(request, node);
    if (chosen) {
      cpus = std::move(*chosen);
    } else {
      out.findings.push_back(chosen.error());
    }
  }
  for (int rank = 0; rank < node.ranks; ++rank) {
    RankBinding binding;
    binding.cpus = std::move(cpus[static_cast<size_t>(rank)]);
    std::sort(binding.cpus.begin(), binding.cpus.end());
    if (!node.gpus.empty())
      binding.near_gpu = node.gpus[own_gpu(node, rank)].id;
    binding.near_nic = near_nic(node, binding, rank);
    binding.gpus = choose_gpus(request.gpus, node, binding, rank);
    out.ranks.push_back(std::move(binding));
  }
  if (request.gpus == GpuBind::kClosest && !node.gpus.empty()) {
    note_far_ranks(node, out);
  }
  if (request.gpus == GpuBind::kSingle && !node.gpus.empty() &&
      node.ranks > static_cast<int>(node.gpus.size())) {
    out.findings.push_back({Severity::kWarning, "gpu_shared",
                            "several ranks on " + node.host + " share a GPU",
                            std::to_string(node.ranks) + " ranks, " +
                                std::to_string(node.gpus.size()) + " GPUs",
                            "use as many ranks per node as there are GPUs"});
  }
  return out;
}

std::vector<std::string> gpu_variables(std::string_view vendor) {
  if (vendor == "nvidia") return {"CUDA_VISIBLE_DEVICES"};
  if (vendor == "amd") {
    return {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
            "CUDA_VISIBLE_DEVICES"};
  }
  if (vendor == "intel") return {"ZE_AFFINITY_MASK"};
  return {};
}

Environment binding_environment(const BindNode& node,
                                const RankBinding& binding) {
  Environment env;
  if (!binding.near_gpu.empty()) {
    env.emplace_back("MUSTER_NEAR_GPU", binding.near_gpu);
  }
  if (!binding.near_nic.empty()) {
    env.emplace_back("MUSTER_NEAR_NIC", binding.near_nic);
  }
  if (!binding.cpus.empty()) {
    env.emplace_back(kCpusVariable, cpu_list_text(binding.cpus));
  }
  const auto variables = gpu_variables(node.gpu_vendor);
  if (binding.gpus.empty() || variables.empty()) return env;
  std::vector<std::string> ids;
  for (const size_t gpu : binding.gpus) ids.push_back(node.gpus[gpu].id);
  // The first one only: HIP's counts within what ROCR's leaves.
  env.emplace_back(variables[0], join(ids, ","));
  return env;
}

Result<BindRequest> parse_bind_request(std::string_view bind_to,
                                       std::string_view gpu_bind) {
  BindRequest out;
  const auto bad = [](const char* option, std::string_view value,
                      const char* known) {
    return fail(Error{"usage",
                      std::string("bad value of ") + option,
                      "'" + std::string(value) + "' is not one of " + known,
                      {},
                      {}});
  };
  const size_t colon = bind_to.find(':');
  const std::string_view to = bind_to.substr(0, colon);
  const auto count = colon == to.npos
                         ? std::optional<int64_t>(1)
                         : parse_integer(bind_to.substr(colon + 1));
  const bool known =
      to.empty() || to == "none" || to == "core" || to == "numa" || to == "gpu";
  if (!known || !count || *count < 1 || *count > 4096 ||
      (colon != bind_to.npos && to != "core")) {
    return bad("--bind-to", bind_to, "none, core, core:N, numa, gpu");
  }
  out.to = to == "core"   ? BindTo::kCore
           : to == "numa" ? BindTo::kNuma
           : to == "gpu"  ? BindTo::kGpu
                          : BindTo::kNone;
  out.cores_per_rank = static_cast<int>(*count);
  if (gpu_bind == "single") {
    out.gpus = GpuBind::kSingle;
  } else if (gpu_bind == "closest") {
    out.gpus = GpuBind::kClosest;
  } else if (!gpu_bind.empty() && gpu_bind != "none") {
    return bad("--gpu-bind", gpu_bind, "none, single, closest");
  }
  return out;
}

}  // namespace muster
