// SPDX-License-Identifier: Apache-2.0
// Takes rights from a connection child that it never needs: new programs, new
// processes, files, sockets, tracing, executable memory, privileges. It keeps
// reading and writing the descriptors it has. Refused system calls fail with
// EPERM instead of killing, so that a library that merely tries does not crash.
// Irreversible, for the calling process.
#pragma once

#include "base/result.h"

namespace muster {

// Whether a filter is written for this machine's architecture.
bool has_system_call_filter();

// Call it after all keys and libraries are loaded. An Error (code "sandbox")
// means that the kernel refused the filter; limits and no_new_privs hold all
// the same. No error on an architecture without a filter.
Status enter_sandbox();

}  // namespace muster
