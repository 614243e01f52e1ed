// SPDX-License-Identifier: Apache-2.0
// Explains an agent's exit status. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

// Codes: "launcher_silent" if the agent took the launcher for lost, else
// "agent_exited".
Error agent_ended(const std::string& host, int exit_status);

}  // namespace muster
