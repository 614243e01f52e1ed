// SPDX-License-Identifier: Apache-2.0
// Which MPI the image has: asks the real mpirun, not our drop-in of the same
// name. Waits at most 5 s for it.
#pragma once

#include <string>
#include <string_view>

#include "base/known_files.h"
#include "job/node_facts.h"

namespace muster {

// Family and version from what `mpirun --version` prints; empty if it is none
// that we know. Pure.
MpiFacts parse_mpi_version(std::string_view text);

// Asks `wanted` if it is there, else the first mpirun or mpiexec of
// `search_path` that is not muster itself. The question costs as much as the
// start of a rank: `known` may spare it, and takes up the answer.
// Blocks; call it in a helper process.
MpiFacts ask_mpi(const std::string& search_path, const std::string& wanted,
                 KnownFiles& known);

}  // namespace muster
