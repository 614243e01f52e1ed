// SPDX-License-Identifier: Apache-2.0
// Closes descriptors that a child must not inherit: all of this process from a
// number on. By close_range if the kernel has it (5.9, its flag 5.11), else one
// by one from /proc. Async-signal-safe, and without memory of its own: runs
// between fork and exec, also in a child that borrows our stack.
#pragma once

namespace muster {

void close_from(int first);
// Marks them close-on-exec instead.
void close_on_exec_from(int first);

}  // namespace muster
