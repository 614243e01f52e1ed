// SPDX-License-Identifier: Apache-2.0
// The number of ranks of a host, with the reason: the first known value of
// --slots-per-node, the hostfile's own number, GPUs (or MIG slices), the CPU
// quota, 1. Disagreement is a Finding, never a silent correction. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/finding.h"
#include "job/node_facts.h"

namespace muster {

struct SlotsInput {
  std::string host;             // for messages
  int user = 0;                 // --slots-per-node; 0: not given
  int hostfile = 0;             // explicit number in the hostfile; 0: none
  std::string hostfile_source;  // "/etc/mpi/hostfile:3"
  int gpus = -1;                // GPUs or MIG slices; -1: unknown, 0: none
  bool mig = false;             // `gpus` counts MIG slices
  double cpu_quota = -1;        // CPUs; -1: none
  int cpus_allowed = -1;        // affinity mask; -1: unknown
};

struct SlotsDecision {
  int slots = 1;
  std::string reason;              // of the winner
  std::vector<std::string> notes;  // one per term, also for those that lost
  std::vector<Finding> findings;
};

SlotsDecision decide_slots(const SlotsInput& input);

// Fills gpus, mig, cpu_quota and cpus_allowed from a pod's facts.
void add_facts(SlotsInput& input, const NodeFacts& facts);

}  // namespace muster
