// SPDX-License-Identifier: Apache-2.0
// The end of a child as a message to the launcher. Pure.
#pragma once

#include "base/reaper.h"
#include "wire/messages.h"

namespace muster {

// Status, times and peak memory; what only the agent knows stays unset.
wire::Exited to_exited(const ChildExit& exit);

}  // namespace muster
