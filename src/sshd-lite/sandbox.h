// SPDX-License-Identifier: Apache-2.0
// Takes from a connection child what it never needs: new programs, new
// processes, files, sockets, tracing, executable memory, privileges. What it
// keeps is reading and writing the descriptors it has.
// Refused system calls fail with EPERM instead of killing, so that a library
// that merely tries is not a crash. Irreversible, for the calling process.
#pragma once

#include "base/result.h"

namespace muster {

// Whether a filter is written for this machine's architecture.
bool has_system_call_filter();

// Call after all keys and libraries are loaded. An Error (code "sandbox") means
// that the kernel did not take the filter; limits and no_new_privs hold all the
// same. No error where no filter is written.
Status enter_sandbox();

}  // namespace muster
