// SPDX-License-Identifier: Apache-2.0
#include "logs/mpirun_noise.h"

namespace muster {

namespace {

// A user id without a name has no login shell that Open MPI could know; its
// default is right, as its daemons start without one.
bool is_shell_guess(std::string_view line) {
  return line.find("] WARNING: local probe returned unhandled shell:") !=
         std::string_view::npos;
}

}  // namespace

// Open MPI 4 moves each ssh into a process group from both sides; where the
// child was quicker, the parent's try fails, and it says so.
bool is_mpirun_noise(std::string_view line) {
  return is_shell_guess(line) ||
         (line.find("plm:rsh: Warning: setpgid(") != std::string_view::npos &&
          line.ends_with("failed in parent with errno=Permission denied(13)"));
}

}  // namespace muster
