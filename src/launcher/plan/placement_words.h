// SPDX-License-Identifier: Apache-2.0
// Where ranks go, as words of the command line: --map-by, --bind-to and
// --profile mean something or are refused before anybody waits for workers.
// Pure. Error code "usage", naming the option.
#pragma once

#include <string>

#include "base/result.h"
#include "job/plan.h"
#include "launcher/options/options.h"

namespace muster {

// "slot", "node", "ppr:N:node"; empty: the value in `spec`.
Status set_map_by(const std::string& text, JobSpec& spec);

Status check_placement(const LaunchOptions& options);

}  // namespace muster
