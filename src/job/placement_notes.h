// SPDX-License-Identifier: Apache-2.0
// Remarks on the placement of ranks: more of them than CPUs, and huge pages
// that the pod may not use. One sentence per kind and number, for any number of
// pods; it refuses nothing. Pure.
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
  Environment env;  // of the ranks
};

// The CPU time of a pod in CPUs: its cpuset or its quota, whichever is less.
// -1: unknown.
double usable_cpus(const NodeFacts& facts);

// `one_machine`: the nodes are emulated on one, and share its CPUs.
std::vector<Finding> placement_notes(const std::vector<PlacedRanks>& nodes,
                                     bool one_machine);

}  // namespace muster
