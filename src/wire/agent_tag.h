// SPDX-License-Identifier: Apache-2.0
// How whoever starts an agent knows what descends from it: a value of its own
// in the environment, by which what outlives an agent that was killed is found.
#pragma once

namespace muster {

inline constexpr const char* kAgentTagVariable = "MUSTER_AGENT_TAG";

}  // namespace muster
