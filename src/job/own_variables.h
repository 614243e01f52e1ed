// SPDX-License-Identifier: Apache-2.0
// The variables that muster itself reads, and names that look like one of them
// misspelt: a pod template's MUSTER_LOGFORMAT would silently have no effect.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

const std::vector<std::string>& own_variables();

// One sentence for each variable that is within two edits of one of ours.
std::vector<std::string> misspelled_variables(const Environment& env);

}  // namespace muster
