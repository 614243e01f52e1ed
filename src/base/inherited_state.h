// SPDX-License-Identifier: Apache-2.0
// Repairs harmful state that a program inherits: closed standard streams, which
// the next socket would take, and an ignored SIGCHLD, which survives exec and
// discards the exit status of every child.
#pragma once

namespace muster {

// Call it once, early in main(), before anything is opened or started.
void mend_inherited_state();

}  // namespace muster
