// SPDX-License-Identifier: Apache-2.0
// `muster fabric show|plan|explain|env|check|bench`.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without the word "fabric". Returns the exit code: 0, 2 for usage, 100
// for unreadable input, 101 if `env` is refused, 31-35 for the failure classes
// of check and bench (docs/fabric.md).
int fabric_main(const std::vector<std::string>& args);

}  // namespace muster
