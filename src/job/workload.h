// SPDX-License-Identifier: Apache-2.0
// The other launchers that may have started this process, from its environment
// alone: one table for LeaderWorkerSet, Volcano and Indexed Jobs, whose pods
// can be a job's launcher and workers, and for Slurm, Flux and torchrun, under
// which muster only looks after one task (`muster task`). Ignores invalid
// numbers. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"
#include "job/hostfile.h"

namespace muster {

struct Workload {
  std::string manager;        // "slurm", "flux", "torchrun", "lws", "volcano",
                              // "indexed job"; empty: none
  bool starts_ranks = false;  // it starts one process per rank itself
  int index = -1;             // of this rank, or pod; -1: unknown
  int size = -1;
  int local_index = -1;
};

// The first matching row of the table.
Workload detect_workload(const Environment& env);

// The workers that the pods' own variables name, without this launcher:
// LWS_LEADER_ADDRESS and LWS_GROUP_SIZE, or VC_WORKER_HOSTS. Empty: none.
std::vector<HostEntry> workload_hosts(const Environment& env);

}  // namespace muster
