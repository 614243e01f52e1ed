// SPDX-License-Identifier: Apache-2.0
// May an mpirun line be started natively? Only if every option is one whose
// meaning muster keeps itself; otherwise the line stays with the MPI's own
// launcher, and the option that decided is named.
// Pure.
#pragma once

#include <string>

#include "base/spawn.h"
#include "job/mpirun_line.h"

namespace muster {

struct NativeLine {
  std::string blocker;  // "--rankfile"; empty: start natively
  std::string bind_to;  // for parse_bind_request(); empty: not asked
  Environment env;      // --mca NAME VALUE as variables
};

NativeLine native_line(const MpirunLine& line);

}  // namespace muster
