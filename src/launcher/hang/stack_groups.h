// SPDX-License-Identifier: Apache-2.0
// Joins the stacks of many ranks to a few groups in the same place, in readable
// form: frames of the interpreter are "Python", and those without names are
// counted. Pure.
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
  // Outermost first; ends with the call in which they may wait for others, if
  // there is one.
  std::vector<std::string> path;
  bool in_call = false;
  std::set<int> ranks;
  std::string problem;  // instead of a path
};

// Largest group first.
std::vector<StackGroup> group_stacks(const std::vector<PlacedStack>& stacks);

// "main > PMPI_Allreduce"; "clock_nanosleep, called by Python".
std::string path_text(const StackGroup& group);

// The few ranks that are in another place than most; empty: none.
std::set<int> minority(const std::vector<StackGroup>& groups);

// One sentence: the place of most, and the ranks of `odd` elsewhere; at most
// four groups.
std::string groups_sentence(const std::vector<StackGroup>& groups,
                            const std::vector<PlacedStack>& stacks,
                            const std::set<int>& odd);

// All groups with whole stacks, for `muster stack`.
std::string groups_text(const std::vector<StackGroup>& groups,
                        const std::vector<PlacedStack>& stacks,
                        const std::set<int>& odd);

}  // namespace muster
