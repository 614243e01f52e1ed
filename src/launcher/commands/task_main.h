// SPDX-License-Identifier: Apache-2.0
// `muster task -- PROGRAM`: runs one process that another launcher starts per
// rank (srun, flux run, torchrun), with muster's log lines, masking and
// verdict, and its own exit code. No connection, no placement. Forwards
// signals.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "task". Returns the program's code, 128+N after signal N, 2
// for a wrong command line, 126 or 127 if it cannot be started.
int task_main(const std::vector<std::string>& args);

}  // namespace muster
