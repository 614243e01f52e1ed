// SPDX-License-Identifier: Apache-2.0
// The CPUs of each rank of a node: half of binding.h, and only used by it.
// Pure.
#pragma once

#include <set>
#include <vector>

#include "job/binding.h"

namespace muster {

using CpuSets = std::vector<std::vector<int>>;  // by local rank
using CpuChoice = tl::expected<CpuSets, Finding>;

// The error says why the ranks stay unbound.
CpuChoice choose_cpus(const BindRequest& request, const BindNode& node);
// The GPU that local rank `rank` uses by convention (cuda:LOCAL_RANK). The
// node has GPUs.
size_t own_gpu(const BindNode& node, int rank);
// The NUMA nodes that `cpus`, ascending, belong to.
std::set<int> numas_of(const BindNode& node, const std::vector<int>& cpus);

}  // namespace muster
