// SPDX-License-Identifier: Apache-2.0
// Is a command that every rank runs one that starts an MPI job of its own:
// `bash -c "mpirun …"`, `env A=1 mpirun …`? Under the name of an mpirun we
// refuse to be started by a rank; the image's own would start as many jobs as
// there are ranks, and all would end well. A script's file is not read. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster {

// The mpirun's name; empty: none is to be seen.
std::string nested_mpirun(const std::vector<std::string>& command);

}  // namespace muster
