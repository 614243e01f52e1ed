// SPDX-License-Identifier: Apache-2.0
// ThreadFreeze: stops a process of ours while it copies its main thread's
// registers and stack, by ptrace as its parent (which needs no extra right for
// descendants). Lets it go at once, in every case. Refuses: processes in an
// uninterruptible wait, which it could not let go.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "stacks/process_stack.h"

namespace muster {

// Asks `pid` to stop; wait() then reports the stop. Error code "not_traceable":
// gone, not ours, forbidden, or uninterruptible.
Status freeze(pid_t pid);

// Call it after the stop: copies, and lets the process go on in any case.
// Passes on a signal that stopped it, as in `wait_status`.
Result<StackSnapshot> copy_and_thaw(pid_t pid, int wait_status);

}  // namespace muster
