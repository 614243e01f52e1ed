// SPDX-License-Identifier: Apache-2.0
// Which MPI the image has: asks the real mpirun, not our drop-in of the same
// name. Waits 30 s for it; on a machine that is slower its file tells the
// family, and the version stays unknown.
#pragma once

#include <chrono>

#include <string>
#include <string_view>

#include "base/known_files.h"
#include "job/node_facts.h"

namespace muster {

// Family and version from what `mpirun --version` prints; empty if it is none
// that we know. Pure.
MpiFacts parse_mpi_version(std::string_view text);

// The family by the words in the file of an mpirun, a program's or a script's;
// empty if it has none that we know. Pure.
std::string mpi_family_of_file(std::string_view content);

// Asks `wanted` if it is there, else the first mpirun or mpiexec of
// `search_path` that is not muster itself. The question costs as much as the
// start of a rank: `known` may spare it, and takes up the answer.
// Blocks; call it in a helper process.
MpiFacts ask_mpi(const std::string& search_path, const std::string& wanted,
                 KnownFiles& known,
                 std::chrono::milliseconds patience = std::chrono::milliseconds{
                     30'000});

}  // namespace muster
