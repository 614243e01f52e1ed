// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/published_machines.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/facts/facts_expand.h"
#include "fabric/policy/network/ports.h"

namespace muster {

namespace {

constexpr const char* kOci =
    "oci-hpc-oke docs/recommended-nccl-rccl-parameters-by-shape.md";
constexpr const char* kDgx = "NVIDIA DGX user guides, network ports";

constexpr PublishedMachine kMachines[] = {
    {"bm.gpu4.8", "mlx5_[0-3,6-17]", "4", kOci},
    {"bm.gpu.a100-v2.8", "mlx5_[1-12,14-17]", "4", kOci},
    {"bm.gpu.b4.8", "mlx5_[1-12,14-17]", "4", kOci},
    {"bm.gpu.h100.8", "mlx5_[0-1,3-10,12-17]", "", kOci},
    {"bm.gpu.h200.8", "mlx5_[0,3-6,9-11]", "", kOci},
    {"bm.gpu.b200.8", "mlx5_[0,3-6,9-11]", "", kOci},
    {"bm.gpu.b300", "mlx5_[0-1,7-14,16-21]", "", kOci},
    {"bm.gpu.gb200-v3.4", "mlx5_[0-3,5-8]", "", kOci},
    {"bm.gpu.gb200", "mlx5_[0-1,3-4]", "", kOci},
    {"bm.gpu.gb300.4", "mlx5_[0-3,5-8]", "4", kOci},
    {"bm.gpu.mi300x.8", "mlx5_[0,2-5,7-9]", "", kOci},
    {"bm.gpu.mi355x.8", "ionic_[0,2-5,7-9]", "2", kOci},
    {"dgxa100", "mlx5_[0-3,6-9]", "", kDgx},
    {"dgxh100", "mlx5_[0,3-6,9-11]", "", kDgx},
    {"dgxh200", "mlx5_[0,3-6,9-11]", "", kDgx},
    {"dgxb200", "mlx5_[4,7-10,13-15]", "", "NVIDIA/nccl#1646"},
};

// "NVIDIA DGX H100" and "DGXH100 920-…" alike.
std::string without_blanks(const std::string& text) {
  std::string out = to_lower(text);
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

}  // namespace

const PublishedMachine* published_machine(const PodFabric& pod) {
  const std::string shape = without_blanks(pod.shape);
  const std::string product = without_blanks(pod.product);
  for (const PublishedMachine& machine : kMachines) {
    if (shape.starts_with(machine.word) ||
        product.find(machine.word) != std::string::npos) {
      return &machine;
    }
  }
  return nullptr;
}

std::vector<std::string> published_adapters(const PodFabric& pod) {
  const PublishedMachine* machine = published_machine(pod);
  if (machine == nullptr || !pod.hcas) return {};
  auto names = expand_brackets(machine->adapters);
  if (!names) return {};
  const bool all = std::all_of(names->begin(), names->end(), [&](auto& name) {
    const FabricHca* hca = find_hca(pod, name);
    return hca != nullptr && !yes(hca->vf);
  });
  return all ? std::move(*names) : std::vector<std::string>{};
}

}  // namespace muster
