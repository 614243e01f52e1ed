// SPDX-License-Identifier: Apache-2.0
// What the end of an agent tells, by its exit status. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

// Codes: "launcher_silent" if it took the launcher for gone, else
// "agent_exited".
Error agent_ended(const std::string& host, int exit_status);

}  // namespace muster
