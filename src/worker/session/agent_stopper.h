// SPDX-License-Identifier: Apache-2.0
// AgentStopper: ends everything of the launch in this pod. At once the ranks
// get TERM; at tools_at_ all other processes; from kill_at_ on every remaining
// process gets KILL, at every look, until none is left. A second request can
// only bring the two times nearer. Refuses: to wait for ever for a process that
// the kernel will not kill (10 s if it hangs in state D, 60 s if it gets no
// CPU; then it reports that and gives up). Loop thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "worker/processes/agent_processes.h"

namespace muster {

// The report on processes that remain `since` after KILL; empty: wait on.
std::string why_not_ended(const std::vector<pid_t>& left, Milliseconds since,
                          const std::string& proc = "/proc");

class AgentStopper {
 public:
  AgentStopper(Loop& loop, AgentProcesses& processes,
               std::function<void(const std::string& text)> warn,
               std::function<void()> on_tools = {});

  // `done` runs when nothing is left and every exit was reported. A grace of 0
  // kills at once. Processes other than ranks get their TERM `tool_delay`
  // later, after on_tools().
  void stop(Milliseconds grace, Milliseconds tool_delay,
            std::function<void()> done);
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  void terminate_tools();
  void kill_all();
  void check();
  [[nodiscard]] std::vector<pid_t> launched() const;
  void finish();

  AgentProcesses& processes_;
  std::function<void(const std::string&)> warn_;
  std::function<void()> on_tools_;
  std::vector<std::function<void()>> done_;
  bool stopping_ = false;
  bool tools_terminated_ = false;
  Clock::time_point tools_at_;
  Clock::time_point kill_at_;
  std::optional<Clock::time_point> killed_at_;  // time of the first KILL
  Timer timer_;
};

}  // namespace muster
