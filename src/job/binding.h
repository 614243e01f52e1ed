// SPDX-License-Identifier: Apache-2.0
// Which CPUs and GPUs each rank of one node gets, and what is near it.
// Binding is a wish: where it cannot be met (a CPU quota that is smaller than
// the CPUs, fewer cores than ranks, GPUs at an unknown place) ranks run
// unbound, and a Finding says why.
// Pure.
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
// kSingle: one GPU, dealt by local rank; kClosest: those on the NUMA nodes of
// the CPUs that the rank is bound to.
enum class GpuBind { kNone, kSingle, kClosest };

struct BindRequest {
  BindTo to = BindTo::kNone;
  int cores_per_rank = 1;  // kCore
  GpuBind gpus = GpuBind::kNone;
};

struct BindGpu {
  std::string id;  // as its vendor's variable wants it: UUID or index
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
  std::vector<CpuCore> cores;  // those that the pod may use
  std::string gpu_vendor;      // "nvidia", "amd", "intel"; empty: no GPUs
  std::vector<BindGpu> gpus;
  std::vector<BindNic> nics;
};

struct RankBinding {
  std::vector<int> cpus;     // ascending; empty: not bound
  std::vector<size_t> gpus;  // indices; empty: its view is left as it is
  std::string near_gpu;      // id; empty: none
  std::string near_nic;
};

struct NodeBinding {
  std::vector<RankBinding> ranks;  // by local rank
  std::vector<Finding> findings;
};

NodeBinding bind_node(const BindRequest& request, const BindNode& node);

// The CPUs that a rank is bound to, for itself and for its rank wrapper.
constexpr const char* kCpusVariable = "MUSTER_CPUS";

// The variables that show `binding` to a rank: MUSTER_NEAR_GPU and _NIC,
// MUSTER_CPUS, and, where GPUs were chosen, their vendor's.
Environment binding_environment(const BindNode& node,
                                const RankBinding& binding);
// Variables by which a user may have chosen GPUs of this vendor already.
std::vector<std::string> gpu_variables(std::string_view vendor);

// "none", "core", "core:4", "numa", "gpu"; "none", "single", "closest".
// Error code "usage".
Result<BindRequest> parse_bind_request(std::string_view bind_to,
                                       std::string_view gpu_bind);

}  // namespace muster
