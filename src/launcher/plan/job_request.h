// SPDX-License-Identifier: Apache-2.0
// Turns the command line, ours or an mpirun line, into the planner's request:
// programs with their numbers, hosts and variables, and the mapping. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "job/plan.h"
#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"

namespace muster {

// `family`: of the MPI that an mpirun line is for, "openmpi". Error code
// "usage".
Result<JobSpec> job_spec(const LaunchOptions& options,
                         const Discovery& discovery, const std::string& family);

}  // namespace muster
