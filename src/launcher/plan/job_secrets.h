// SPDX-License-Identifier: Apache-2.0
// The secrets of a job, which its output must not show: values of
// secret-looking variables in any pod or on the command line, and arguments of
// a program's flags with such names. Pure.
#pragma once

#include <vector>

#include "base/spawn.h"
#include "job/env_merge.h"
#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"

namespace muster {

// Each value once, under one of its names; for make_masker(). `pods`: the
// decisions on each pod's environment, empty before the pods are known.
Environment job_secrets(const Discovery& discovery,
                        const LaunchOptions& options,
                        const std::vector<EnvMerge>& pods);

}  // namespace muster
