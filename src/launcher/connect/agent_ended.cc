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
  // A remote shell ends with these codes if the program is missing or is for
  // another machine. A later attempt finds the same image.
  constexpr int kNotExecutable = 126;
  constexpr int kNotFound = 127;
  if (exit_status == kNotFound || exit_status == kNotExecutable) {
    return {"agent_missing",
            "the worker cannot start muster-agent",
            "its shell ended with status " + std::to_string(exit_status),
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
