// SPDX-License-Identifier: Apache-2.0
// The agents that hold a pod for a job: an area, muster-job-HASH, with a lock
// and a file for each agent, named by its process id. The holder of the lock
// may change the area. Pods may share the directory of their areas, so the hash
// covers the kernel's boot and the PID namespace, too: elsewhere the process
// ids mean other processes. Refuses: to believe files that were cut short. Any
// thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct AgentHolder {
  std::string file;
  pid_t pid = 0;
  bool alive = false;  // as far as this PID namespace knows
  std::string incarnation;
  std::string launch_id;
  std::string agent_key;
};

// For RuntimeDir::create().
std::string agent_area_name(std::string_view job,
                            const std::string& proc = "/proc");
std::string agent_area_lock(const std::string& area);
std::vector<AgentHolder> agent_holders(const std::string& area);
// For an agent that could not do it.
void remove_run_directory(const std::string& agent_key);
// The area itself, if no agent holds it.
void remove_empty_area(const std::string& area);
// Removes the files of killed agents of this user in this pod. Keeps the files
// of live agents, even in another PID namespace.
void clear_after_killed_agents();

}  // namespace muster
