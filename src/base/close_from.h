// SPDX-License-Identifier: Apache-2.0
// Closes what a child must not inherit: all descriptors of this process from a
// number on. By close_range where the kernel has it (5.9, its flag 5.11), else
// one by one from /proc. Async-signal-safe, and without memory of its own: runs
// between fork and exec, also in a child that borrows our stack.
#pragma once

namespace muster {

void close_from(int first);
// They end at the next exec instead.
void close_on_exec_from(int first);

}  // namespace muster
