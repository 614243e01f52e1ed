// SPDX-License-Identifier: Apache-2.0
// `muster netpol --job NAME`: prints a NetworkPolicy.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "netpol". Returns 0, or 2 for a wrong command line.
int netpol_main(const std::vector<std::string>& args);

}  // namespace muster
