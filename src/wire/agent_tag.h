// SPDX-License-Identifier: Apache-2.0
// The tag by which the starter of an agent finds its descendants: a value in
// the environment. It finds what outlives an agent that was killed.
#pragma once

namespace muster {

inline constexpr const char* kAgentTagVariable = "MUSTER_AGENT_TAG";

}  // namespace muster
