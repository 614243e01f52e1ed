// SPDX-License-Identifier: Apache-2.0
// `muster version [-o text|json]`.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "version". Returns 0, or 2 for a wrong command line.
int version_main(const std::vector<std::string>& args);

}  // namespace muster
