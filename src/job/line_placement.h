// SPDX-License-Identifier: Apache-2.0
// What an mpirun line, or the variables around it, says of placement by
// itself: then it is the MPI that places or binds, and muster keeps out of it.
// Pure.
#pragma once

#include <string>

#include "base/spawn.h"
#include "job/mpirun_line.h"

namespace muster {

// "--bind-to socket", "OMPI_MCA_hwloc_base_binding_policy=core": what binds the
// ranks to CPUs. Empty: nothing does, and the MPI's default counts.
std::string own_binding(const MpirunLine* line, const Environment& env);

// Without -np the line has as many ranks as mpirun finds places for, in what
// only it looks at: "--map-by ppr:1:socket", a rankfile.
bool counts_by_itself(const MpirunLine& line);

// "--map-by ppr:1:socket", "-npernode 2", a variable or a place in a parameter
// file: what maps ranks to nodes. Empty: nothing does.
std::string own_mapping(const MpirunLine& line);
// An option other than --mca maps ranks.
bool has_mapping_option(const MpirunLine& line);

}  // namespace muster
