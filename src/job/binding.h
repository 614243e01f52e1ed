// SPDX-License-Identifier: Apache-2.0
// The CPUs and GPUs of each rank of one node, and the devices near it. Binding
// is a wish: if it cannot be met (a CPU quota that is smaller than the CPUs,
// fewer cores than ranks, GPUs at an unknown place), ranks run unbound, and a
// Finding says why. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "job/finding.h"
#include "job/node_facts.h"

namespace muster {

enum class BindTo { kNone, kCore, kNuma, kGpu };
// kSingle: one GPU, by local rank; kClosest: those on the NUMA nodes of the
// rank's CPUs.
enum class GpuBind { kNone, kSingle, kClosest };

struct BindRequest {
  BindTo to = BindTo::kNone;
  int cores_per_rank = 1;  // kCore
  GpuBind gpus = GpuBind::kNone;
};

struct BindGpu {
  std::string id;  // for its vendor's variable: UUID or index
  int numa = -1;
  std::map<std::string, std::string> nics;  // adapter -> "PIX"
};

struct BindNic {
  std::string name;
  int numa = -1;
};

struct BindNode {
  std::string host;
  int ranks = 0;
  double cpu_quota = -1;       // CPUs; -1: none
  std::vector<CpuCore> cores;  // the pod's own
  std::string gpu_vendor;      // "nvidia", "amd", "intel"; empty: no GPUs
  std::vector<BindGpu> gpus;
  std::vector<BindNic> nics;
};

struct RankBinding {
  std::vector<int> cpus;     // ascending; empty: not bound
  std::vector<size_t> gpus;  // indices; empty: it sees all
  std::string near_gpu;      // id; empty: none
  std::string near_nic;
};

struct NodeBinding {
  std::vector<RankBinding> ranks;  // by local rank
  std::vector<Finding> findings;
};

NodeBinding bind_node(const BindRequest& request, const BindNode& node);

// The CPUs of a rank, for itself and for its rank wrapper.
constexpr const char* kCpusVariable = "MUSTER_CPUS";

// The variables that show `binding` to a rank: MUSTER_NEAR_GPU and _NIC,
// MUSTER_CPUS, and, if it selects GPUs, their vendor's.
Environment binding_environment(const BindNode& node,
                                const RankBinding& binding);
// Variables by which a user may already have selected GPUs of this vendor.
std::vector<std::string> gpu_variables(std::string_view vendor);

// "none", "core", "core:4", "numa", "gpu"; "none", "single", "closest".
// Error code "usage".
Result<BindRequest> parse_bind_request(std::string_view bind_to,
                                       std::string_view gpu_bind);

}  // namespace muster
