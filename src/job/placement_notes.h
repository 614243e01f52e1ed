// SPDX-License-Identifier: Apache-2.0
// What is worth knowing of ranks where they were placed: more of them than
// CPUs, and huge pages that the pod may not have. One sentence per kind and
// number, however many pods it is about; nothing is refused.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"
#include "job/finding.h"
#include "job/node_facts.h"

namespace muster {

struct PlacedRanks {
  std::string host;
  int ranks = 0;
  const NodeFacts* facts = nullptr;
  Environment env;  // what the ranks see
};

// CPUs' worth of time that a pod can have: its cpuset or its quota, whichever
// is less. -1: unknown.
double usable_cpus(const NodeFacts& facts);

// `one_machine`: the nodes are emulated on one, and share its CPUs.
std::vector<Finding> placement_notes(const std::vector<PlacedRanks>& nodes,
                                     bool one_machine);

}  // namespace muster
