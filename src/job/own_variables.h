// SPDX-License-Identifier: Apache-2.0
// The variables that muster itself reads, and those that look like one of them
// misspelled: a pod template's MUSTER_LOGFORMAT would have no effect, without a
// word. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

const std::vector<std::string>& own_variables();

// One sentence for each variable that is within two edits of one of ours and is
// none.
std::vector<std::string> misspelled_variables(const Environment& env);

}  // namespace muster
