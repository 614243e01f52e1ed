// SPDX-License-Identifier: Apache-2.0
// Finds every process of a launch in this pod, even one that tried to escape:
// the tree below the agent (which is a subreaper, so double forks stay in it)
// and every process with the agent's key in its environment. Reads /proc only.
// Any thread, except for RecentProcesses.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/loop.h"

namespace muster {

// The variable that names one agent of one launch in all its processes.
inline constexpr const char* kAgentKeyVariable = "MUSTER_AGENT";
inline constexpr const char* kLaunchIdVariable = "MUSTER_LAUNCH_ID";
inline constexpr const char* kRunDirVariable = "MUSTER_RUN_DIR";

// `root` first, then its live descendants, without zombies.
std::vector<pid_t> with_descendants(pid_t root,
                                    const std::string& proc = "/proc");
struct ProcessEntry {
  pid_t parent = 0;
  bool zombie = false;
};

// The same for many roots at about the same time: one look at all processes
// serves all callers of the next moment. A root must be older than that moment.
class RecentProcesses {
 public:
  static constexpr Milliseconds kMoment{100};

  explicit RecentProcesses(std::string proc = "/proc")
      : proc_(std::move(proc)) {}
  std::vector<pid_t> with_descendants(pid_t root);

 private:
  std::string proc_;
  std::map<pid_t, ProcessEntry> table_;
  Clock::time_point good_until_;
};

// Live processes of the launch, without `agent` itself.
std::vector<pid_t> launch_processes(pid_t agent, const std::string& agent_key,
                                    const std::string& proc = "/proc");

}  // namespace muster
