// SPDX-License-Identifier: Apache-2.0
// Snapshots as lines of text, from the agent to its helper: the process, its
// registers in hex, its stack in Base64. Refuses lines of another form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/process_stack.h"

namespace muster {

std::string to_text(const std::vector<StackSnapshot>& snapshots);
// Leaves out snapshots that it cannot read.
std::vector<StackSnapshot> snapshots_from_text(std::string_view text);

}  // namespace muster
