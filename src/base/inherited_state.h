// SPDX-License-Identifier: Apache-2.0
// What the parent of a program left in it that would do harm: closed standard
// streams, which become somebody's socket, and an ignored SIGCHLD, which exec
// hands down and which takes away the exit status of every child.
#pragma once

namespace muster {

// Once, early in main(), before anything is opened or started.
void mend_inherited_state();

}  // namespace muster
