// SPDX-License-Identifier: Apache-2.0
// `muster stack [RANK...]`: where the ranks of the launch in this pod are, from
// another shell. Asks the launcher through its run directory.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without the command's name. Returns the exit code.
int stack_main(const std::vector<std::string>& args);

}  // namespace muster
