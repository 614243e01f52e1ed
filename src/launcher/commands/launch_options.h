// SPDX-License-Identifier: Apache-2.0
// Reads the command line of `muster launch` and the MUSTER_* variables (the
// command line wins). Refuses unknown options (with the nearest name) and
// values out of range, each in one sentence on stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/options.h"

namespace muster {

struct ParsedOptions {
  LaunchOptions options;
  std::optional<int> exit_code;  // set: help or an error has been printed
};

// `args` without "launch".
ParsedOptions parse_launch_options(const std::vector<std::string>& args);

}  // namespace muster
