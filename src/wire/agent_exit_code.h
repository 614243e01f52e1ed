// SPDX-License-Identifier: Apache-2.0
// Exit codes of `muster-agent agent`: its last word to the pod's pid 1, which
// started it, and over SSH to the launcher. Plain values.
#pragma once

namespace muster {

enum AgentExit : int {
  kAgentDone = 0,
  kAgentProtocol = 2,       // no hello, garbage, or other versions
  kAgentLauncherGone = 3,   // EOF or silence without bye
  kAgentJobSucceeded = 80,  // bye with success: pid 1 may end the pod well
};

}  // namespace muster
