// SPDX-License-Identifier: Apache-2.0
// ThreadFreeze: stops a process of ours for the moment that it takes to copy
// its main thread's registers and stack, by ptrace as its parent (no extra
// right is needed for descendants). It is let go at once, in every case.
// Refuses: processes in an uninterruptible wait, which could not be let go.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "stacks/process_stack.h"

namespace muster {

// Asks `pid` to stop; the stop itself is then reported by wait(). Error code
// "not_traceable": gone, not ours, forbidden, or uninterruptible.
Status freeze(pid_t pid);

// After its stop was seen: copies, and lets it go on in any case. A signal that
// stopped it, as `wait_status` says, is passed on.
Result<StackSnapshot> copy_and_thaw(pid_t pid, int wait_status);

}  // namespace muster
