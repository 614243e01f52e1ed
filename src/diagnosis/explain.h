// SPDX-License-Identifier: Apache-2.0
// The two manual commands of diagnosis. `muster explain [CODE]` prints the
// manual entry of one failure code, or the list of all; `muster explain-log
// FILE|- [-o text|json] [--rules DIR]` judges any text log of mpirun, Hydra,
// srun, torchrun, horovodrun or `kubectl logs`.
// Both write to stdout and return an exit code: 0, or 2 for a wrong command
// line, 1 if the input cannot be read.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without the command's own name.
int explain_main(const std::vector<std::string>& args);
int explain_log_main(const std::vector<std::string>& args);

}  // namespace muster
