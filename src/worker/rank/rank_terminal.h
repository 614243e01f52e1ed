// SPDX-License-Identifier: Apache-2.0
// The terminal or pipe between a rank and its agent. Open MPI gives each rank a
// terminal for stdout: programs then send every line as they write it and lose
// none in a crash. The rank behind the wrapper gets one, too.
#pragma once

#include "base/fd.h"

namespace muster {

// A terminal with the settings of `model`, if that is one, else a pipe; a pipe
// also where the kernel gives no terminal. Never a controlling terminal.
Result<Pipe> make_output_like(int model);

}  // namespace muster
