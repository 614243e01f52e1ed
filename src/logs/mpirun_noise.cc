// SPDX-License-Identifier: Apache-2.0
#include "logs/mpirun_noise.h"

namespace muster {

// Open MPI 4 moves each ssh into a process group from both sides; where the
// child was quicker, the parent's try fails, and it says so.
bool is_mpirun_noise(std::string_view line) {
  return line.find("plm:rsh: Warning: setpgid(") != std::string_view::npos &&
         line.ends_with("failed in parent with errno=Permission denied(13)");
}

}  // namespace muster
