// SPDX-License-Identifier: Apache-2.0
// Stacks of many ranks become a few groups of ranks that are in the same
// place, and the odd one among them is named: the rank that has not reached
// the collective where all others wait. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "wire/stack_messages.h"

namespace muster {

struct PlacedStack {
  wire::RankStack stack;
  std::string host;
};

struct StackGroup {
  // Outermost first; ends with the call into MPI or NCCL, if there is one.
  std::vector<std::string> path;
  std::set<int> ranks;
  std::string problem;  // instead of a path
};

// Largest group first.
std::vector<StackGroup> group_stacks(const std::vector<PlacedStack>& stacks);

// "main > PMPI_Allreduce".
std::string path_text(const StackGroup& group);

// The few ranks that are elsewhere than most; empty: no such thing.
std::set<int> odd_ranks(const std::vector<StackGroup>& groups);

// One sentence: where most are, and who is not; at most four groups.
std::string groups_sentence(const std::vector<StackGroup>& groups,
                            const std::vector<PlacedStack>& stacks);

// All groups with whole paths, for `muster stack`.
std::string groups_text(const std::vector<StackGroup>& groups,
                        const std::vector<PlacedStack>& stacks);

}  // namespace muster
