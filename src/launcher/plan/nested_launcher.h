// SPDX-License-Identifier: Apache-2.0
// Commands of ranks that start ranks of their own: `bash -c "mpirun …"` or
// `srun …` would start as many jobs as there are ranks, which may all end
// well; `torchrun` is meant once a pod. Under the name of an mpirun we refuse
// to be started by a rank; the image's own does not. A script's file is not
// read. Pure.
#pragma once

#include <vector>

#include "job/finding.h"
#include "job/plan.h"

namespace muster {

// Code "nested_launcher", at most one for each program.
std::vector<Finding> nested_launchers(const std::vector<AppSpec>& apps,
                                      const Plan& plan);

}  // namespace muster
