// SPDX-License-Identifier: Apache-2.0
// A process that is done, and whose end may hang in a library, ends all the
// same, with the code that it would have had: an end by a signal would be
// taken for a crash. Handles SIGALRM from then on. Any thread.
#pragma once

#include <chrono>

namespace muster {

void exit_at_latest(std::chrono::milliseconds limit, int code);

}  // namespace muster
