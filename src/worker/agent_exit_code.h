// SPDX-License-Identifier: Apache-2.0
// Exit codes of `muster-agent agent`: what the agent says to the pod's pid 1,
// which started it and may live longer. Plain values.
#pragma once

namespace muster {

enum AgentExit : int {
  kAgentDone = 0,
  kAgentProtocol = 2,       // no hello, garbage, or other versions
  kAgentLauncherGone = 3,   // EOF or silence without bye
  kAgentJobSucceeded = 80,  // bye with success: pid 1 may end the pod well
};

}  // namespace muster
