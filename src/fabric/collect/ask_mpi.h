// SPDX-License-Identifier: Apache-2.0
// Finds the image's MPI: asks the real mpirun, not our drop-in of the same
// name. Waits 30 s for it; on a slower machine its file gives the family, and
// the version stays unknown.
#pragma once

#include <chrono>

#include <string>
#include <string_view>

#include "base/known_files.h"
#include "job/node_facts.h"

namespace muster {

// Family and version from the output of `mpirun --version`; empty for an
// unknown MPI. Pure.
MpiFacts parse_mpi_version(std::string_view text);

// The family by the words in the file of an mpirun, a program's or a script's;
// empty for an unknown one. Pure.
std::string mpi_family_of_file(std::string_view content);

// Asks `wanted` if it exists, else the first mpirun or mpiexec of `search_path`
// that is not muster itself. The question costs as much as the start of a rank:
// `known` may answer it, and keeps a new answer. Blocks; call it in a helper
// process.
MpiFacts ask_mpi(const std::string& search_path, const std::string& wanted,
                 KnownFiles& known,
                 std::chrono::milliseconds patience = std::chrono::milliseconds{
                     30'000});

}  // namespace muster
