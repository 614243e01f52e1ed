// SPDX-License-Identifier: Apache-2.0
// Ends a finished process that hangs in a library, with the code that it would
// have had: an end by a signal would look like a crash. Handles SIGALRM from
// then on. Any thread.
#pragma once

#include <chrono>

namespace muster {

void exit_at_latest(std::chrono::milliseconds limit, int code);

}  // namespace muster
