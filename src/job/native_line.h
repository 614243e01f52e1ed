// SPDX-License-Identifier: Apache-2.0
// Whether an mpirun line can start natively: only if muster implements every
// option; otherwise the line stays with the MPI's own launcher, and the result
// names the option that decided. Pure.
#pragma once

#include <string>

#include "base/spawn.h"
#include "job/mpirun_line.h"

namespace muster {

struct NativeLine {
  std::string blocker;  // "--rankfile"; empty: start natively
  std::string bind_to;  // for parse_bind_request(); empty: none
  Environment env;      // --mca NAME VALUE as variables
};

NativeLine native_line(const MpirunLine& line);

}  // namespace muster
