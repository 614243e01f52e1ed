// SPDX-License-Identifier: Apache-2.0
// Binding and near devices of every rank of a job: what the pods told, put
// before the planner of job/binding.h, and the map that a person reads.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "job/binding.h"
#include "job/plan.h"

namespace muster {

struct JobBinding {
  std::vector<BindNode> nodes;     // by planned node
  std::vector<NodeBinding> bound;  // likewise
  bool by_mpi = false;             // an mpirun binds to CPUs, not we
  [[nodiscard]] const RankBinding& of(const PlannedRank& rank) const {
    return bound[static_cast<size_t>(rank.node)]
        .ranks[static_cast<size_t>(rank.local_rank)];
  }
};

// `facts` and `visible`, the devices that ranks there would see without us, by
// planned node. GPUs that a variable already selects stay as they are.
JobBinding bind_job(const BindRequest& request, const Plan& plan,
                    const std::vector<const NodeFacts*>& facts,
                    const std::vector<Environment>& visible);

// What `rank` gets on top of everything else.
Environment binding_variables(const JobBinding& job, const PlannedRank& rank);

// The bindings that failed, one sentence for nodes that are alike.
std::vector<Finding> binding_findings(const JobBinding& job);

// One line per rank: "rank 3  w-0  cpus 4-7 (numa 1)  gpu GPU-6e  nic mlx5_1".
std::vector<std::string> map_lines(const Plan& plan, const JobBinding& job);

}  // namespace muster
