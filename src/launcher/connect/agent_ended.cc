// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/agent_ended.h"

#include "wire/agent_exit_code.h"

namespace muster {

Error agent_ended(const std::string& host, int exit_status) {
  if (exit_status == kAgentLauncherGone) {
    return {"launcher_silent",
            "the agent took this launcher for gone",
            "it had heard nothing from here for too long",
            host,
            {}};
  }
  return {"agent_exited",
          "the agent ended",
          "status " + std::to_string(exit_status),
          host,
          {}};
}

}  // namespace muster
