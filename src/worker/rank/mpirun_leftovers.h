// SPDX-License-Identifier: Apache-2.0
// The leftovers of a killed mpirun in the temporary directory: the session
// directory of Open MPI 4 (ORTE) or 5 (PRRTE), found by host, user and process
// id. A daemon's lies in the agent's own directory (agent_processes.cc);
// mpirun's cannot, since it passes that path on to other hosts. Refuses: to
// follow links, and to touch files of another user. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

// Where a mpirun of this environment, host and user may have put it.
std::vector<std::string> mpirun_sessions(const Environment& env,
                                         const std::string& host, uid_t user,
                                         pid_t pid);
// Removes existing ones, once the process has ended.
void remove_mpirun_sessions(const Environment& env, pid_t pid);

}  // namespace muster
