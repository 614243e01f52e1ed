// SPDX-License-Identifier: Apache-2.0
// `muster completion bash|zsh` and `muster completion man COMMAND`.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "completion". Returns 0, or 2 for a wrong command line.
int completion_main(const std::vector<std::string>& args);

}  // namespace muster
