// SPDX-License-Identifier: Apache-2.0
// What an mpirun that was killed leaves in the temporary directory: the session
// directory of Open MPI 4 (ORTE) or 5 (PRRTE), found by host, user and process
// id. A daemon's lies in the agent's own directory (agent_processes.cc);
// mpirun's cannot, since it hands that path on to other hosts.
// Refuses: to follow links, and to touch what another user owns. Any thread.
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
// Removes those that are there, once the process is gone.
void remove_mpirun_sessions(const Environment& env, pid_t pid);

}  // namespace muster
