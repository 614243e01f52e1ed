// SPDX-License-Identifier: Apache-2.0
// AgentStopper: ends everything of the launch in this pod: TERM, a grace
// period, KILL, then KILL again for whatever still shows up, until nothing is
// left. Asking again can only make it faster.
// Refuses: to wait for ever for a process that the kernel will not kill
// (10 s, then it says so and gives up). Loop thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "worker/agent_processes.h"

namespace muster {

class AgentStopper {
 public:
  AgentStopper(Loop& loop, AgentProcesses& processes,
               std::function<void(const std::string& text)> warn,
               std::function<void()> on_tools = {});

  // `done` runs when nothing is left and every exit was reported. A grace of 0
  // kills at once. What is not a rank gets its TERM `tool_delay` later, after
  // on_tools().
  void stop(Milliseconds grace, Milliseconds tool_delay,
            std::function<void()> done);
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  void terminate_tools();
  void kill_all();
  void check();
  void finish();

  AgentProcesses& processes_;
  std::function<void(const std::string&)> warn_;
  std::function<void()> on_tools_;
  std::vector<std::function<void()>> done_;
  bool stopping_ = false;
  bool killing_ = false;
  bool tools_terminated_ = false;
  Clock::time_point tools_at_;
  Clock::time_point kill_at_;
  Clock::time_point give_up_at_;
  Timer timer_;
};

}  // namespace muster
