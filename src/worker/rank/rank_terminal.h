// SPDX-License-Identifier: Apache-2.0
// What carries a rank's output from the rank to its agent. Open MPI gives each
// rank a terminal for stdout, by which programs send every line as they write
// it and lose none in a crash; so the rank behind the wrapper gets one, too.
#pragma once

#include "base/fd.h"

namespace muster {

// A terminal with the settings of `model`, if that is one, else a pipe; a pipe
// also where the kernel gives no terminal. Never a controlling terminal.
Result<Pipe> make_output_like(int model);

}  // namespace muster
