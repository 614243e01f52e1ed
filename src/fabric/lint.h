// SPDX-License-Identifier: Apache-2.0
// Checks of the user's name lists, apart because their grammar is NCCL's own
// and full of traps. Internal to the policy. Pure.
#pragma once

#include <string>

#include "fabric/job_state.h"

namespace muster {

// NCCL_IB_HCA and NCCL_SOCKET_IFNAME; other names are ignored.
void lint_lists(FabricJob& job, FabricPodState& pod, const std::string& name,
                const std::string& value);

}  // namespace muster
