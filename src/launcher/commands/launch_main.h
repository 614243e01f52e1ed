// SPDX-License-Identifier: Apache-2.0
// `muster launch`. Returns the exit code of the job.
#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"

namespace muster {

// `args` without the command's name.
int launch_main(const std::vector<std::string>& args);
// The same for options that are already known.
int launch(LaunchOptions options);

}  // namespace muster
