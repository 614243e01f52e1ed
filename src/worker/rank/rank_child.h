// SPDX-License-Identifier: Apache-2.0
// The child side of the rank wrapper: starts the program with every inherited
// descriptor intact (PMI_FD and friends), passes signals on, waits, and ends
// the way it ended. Not base/spawn.h, which closes descriptors that it does not
// know. Blocks; one thread.
#pragma once

#include <sys/types.h>

#include <signal.h>

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/reaper.h"
#include "base/spawn.h"

namespace muster {

struct RankCommand {
  std::vector<std::string> argv;
  Environment env;
  std::vector<int> cpus;  // to be bound to; empty: ours
};

struct RankChild {
  pid_t pid = 0;
  sigset_t waited{};  // signals blocked here, to be passed on
};

// Replaces this process; returns errno if that failed.
int exec_rank(const RankCommand& command);
// The program leads a process group of its own, and dies with this process. If
// it cannot have its CPUs, its stderr says so, and it runs unbound. An errno if
// it could not be started.
tl::expected<RankChild, int> start_rank(const RankCommand& command, int out,
                                        int err);
// Passes signals on until the program has ended. Passes a stop signal that
// comes twice at once (from the daemon and from the agent) only once: programs
// take a second one as an order to hurry.
ChildExit wait_for_rank(const RankChild& child);
// The same exit code to return, or death by the same signal (without a second
// core file).
int leave_like(int wait_status);

}  // namespace muster
