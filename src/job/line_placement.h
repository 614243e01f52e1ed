// SPDX-License-Identifier: Apache-2.0
// The placement that an mpirun line, or the variables around it, asks for by
// itself: then the MPI places or binds, and muster does not. Pure.
#pragma once

#include <string>

#include "base/spawn.h"
#include "job/mpirun_line.h"

namespace muster {

// "--bind-to socket", "OMPI_MCA_hwloc_base_binding_policy=core": the option
// that binds the ranks to CPUs. Empty: none, and the MPI's default counts.
std::string own_binding(const MpirunLine* line, const Environment& env);

// Without -np mpirun counts the ranks by places that only it reads: "--map-by
// ppr:1:socket", a rankfile.
bool counts_by_itself(const MpirunLine& line);

// "--map-by ppr:1:socket", "-npernode 2", a variable or a place in a parameter
// file: the option that maps ranks to nodes. Empty: none.
std::string own_mapping(const MpirunLine& line);
// An option other than --mca maps ranks.
bool has_mapping_option(const MpirunLine& line);

}  // namespace muster
