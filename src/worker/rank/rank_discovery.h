// SPDX-License-Identifier: Apache-2.0
// Finds the muster process from which a foreign daemon's process descends: the
// parent chain names pids, run directories hold sockets named after pids. The
// environment is only a hint: launchers strip it, or carry over that of another
// pod.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/spawn.h"

namespace muster {

// The parents of `pid`, nearest first, at most 64.
std::vector<pid_t> parent_chain(pid_t pid, const std::string& proc = "/proc");
// $MUSTER_RUN_DIR, then every muster-* directory of ours in muster's places.
std::vector<std::string> run_directories(const Environment& env);
// A connection to the nearest agent in `chain`; empty if none listens. The
// socket of a killed agent may have stayed, and its pid now be another's; in a
// directory that pods share, the same pid may be that of another pod's agent.
UniqueFd connect_agent(const std::vector<pid_t>& chain,
                       const std::vector<std::string>& directories);
// Empty if no process listens. `type` is SOCK_STREAM or SOCK_SEQPACKET.
UniqueFd connect_unix(const std::string& path, int type);
// The pid that listens at the other end of a connected socket; 0 if unknown.
pid_t peer_pid(int socket);

}  // namespace muster
