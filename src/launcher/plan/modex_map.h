// SPDX-License-Identifier: Apache-2.0
// The JobMap of a native job: the plan as the agents need it. Pure.
#pragma once

#include <string>

#include "launcher/plan/agreement.h"
#include "wire/modex_messages.h"

namespace muster {

// `secret` makes the namespace one that other tenants of a node cannot guess.
wire::JobMap job_map(const Agreement& agreement, const std::string& launch_id,
                     const std::string& secret, bool emulated);

}  // namespace muster
