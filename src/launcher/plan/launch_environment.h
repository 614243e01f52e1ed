// SPDX-License-Identifier: Apache-2.0
// The environment that a launch gives to every process, by node and by rank,
// for both backends. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/agreement.h"
#include "launcher/start/mpirun_backend.h"
#include "launcher/start/native_backend.h"

namespace muster {

// The ranks with their complete environment, for a native start.
std::vector<NativeRank> native_ranks(const Agreement& agreement,
                                     const std::vector<uint16_t>& node_of_host,
                                     const LaunchOptions& options);

// Where an emulated node (--local) keeps its files; must exist for mpirun.
std::string local_node_directory(const std::string& run_directory, size_t node);

// The mpirun line with everything around it. `script_path`: PATH of a script
// under --once, the drop-ins first.
MpirunPlan mpirun_plan(const Agreement& agreement,
                       const std::vector<uint16_t>& node_of_host,
                       const LaunchOptions& options,
                       const std::string& run_directory,
                       const std::string& script_path);

}  // namespace muster
