// SPDX-License-Identifier: Apache-2.0
// The secrets that a job brings along, to be hidden in what it prints: what
// secret-looking variables hold in any pod or on the command line, and what
// stands behind a program's flags of such names. Pure.
#pragma once

#include "base/spawn.h"
#include "launcher/agreement.h"

namespace muster {

// Each value once, under one of its names; for make_masker().
Environment job_secrets(const Environment& launcher,
                        const Agreement& agreement);

}  // namespace muster
