// SPDX-License-Identifier: Apache-2.0
// The secrets that a job brings along, to be hidden in what it prints: what
// secret-looking variables hold in any pod or on the command line, and what
// stands behind a program's flags of such names. Pure.
#pragma once

#include <vector>

#include "base/spawn.h"
#include "job/env_merge.h"
#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"

namespace muster {

// Each value once, under one of its names; for make_masker(). `pods`: what was
// decided on each pod's environment, empty before the pods are known.
Environment job_secrets(const Discovery& discovery,
                        const LaunchOptions& options,
                        const std::vector<EnvMerge>& pods);

}  // namespace muster
