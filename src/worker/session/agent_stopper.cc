// SPDX-License-Identifier: Apache-2.0
#include "worker/session/agent_stopper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process_table.h"
#include "worker/base/agent_sweep.h"

namespace muster {

namespace {
constexpr Milliseconds kPoll{25};
// After KILL: the limits inside the kernel, and without a CPU to end on.
constexpr Milliseconds kUnkillable{10000};
constexpr Milliseconds kStarved{60000};

pid_t one_inside_kernel(const std::vector<pid_t>& left,
                        const std::string& proc) {
  for (const pid_t pid : left) {
    if (process_state(pid, proc) == 'D') return pid;
  }
  return 0;
}
}  // namespace

std::string why_not_ended(const std::vector<pid_t>& left, Milliseconds since,
                          const std::string& proc) {
  if (since < kUnkillable) return "";
  if (const pid_t pid = one_inside_kernel(left, proc); pid != 0) {
    return "process " + std::to_string(pid) +
           " of this job cannot be killed: it hangs inside the kernel (state "
           "D), perhaps on a dead file system or device; delete the pod to "
           "end it";
  }
  if (since < kStarved) return "";
  const char state = left.empty() ? '\0' : process_state(left.front(), proc);
  return (left.empty() ? std::string("a process")
                       : "process " + std::to_string(left.front())) +
         " of this job has not ended " +
         std::to_string(kStarved.count() / 1000) + " s after SIGKILL" +
         (state == '\0' ? std::string()
                        : std::string(" (state ") + state + ")") +
         ": it gets no CPU to end on; delete the pod to end it";
}

AgentStopper::AgentStopper(Loop& loop, AgentProcesses& processes,
                           std::function<void(const std::string&)> warn,
                           std::function<void()> on_tools)
    : processes_(processes),
      warn_(std::move(warn)),
      on_tools_(std::move(on_tools)),
      timer_(loop) {}

void AgentStopper::stop(Milliseconds grace, Milliseconds tool_delay,
                        std::function<void()> done) {
  done_.push_back(std::move(done));
  const auto kill_at = Clock::now() + grace;
  if (!stopping_) {
    stopping_ = true;
    tools_terminated_ = grace.count() == 0;
    kill_at_ = kill_at;
    tools_at_ = Clock::now() + tool_delay;
    // One TERM for each process: some programs take a second as "at once".
    if (grace.count() > 0) {
      for (const int number : {SIGTERM, SIGCONT}) {
        processes_.signal_ranks(number);
      }
    }
  } else {
    kill_at_ = std::min(kill_at_, kill_at);
    tools_at_ = std::min(tools_at_, Clock::now() + tool_delay);
  }
  check();
}

void AgentStopper::terminate_tools() {
  tools_terminated_ = true;
  if (on_tools_) on_tools_();
  processes_.signal_tools(SIGTERM);
  for (const pid_t pid : launched()) {
    const pid_t group = ::getpgid(pid);
    const AgentProcess* ancestor = processes_.ancestor_of(pid);
    const bool reached = ancestor != nullptr && ancestor->info().pid == group;
    if (!reached && !processes_.is_attached(pid)) ::kill(pid, SIGTERM);
  }
}

std::vector<pid_t> AgentStopper::launched() const {
  return launch_processes(::getpid(), processes_.identity().agent_key);
}

void AgentStopper::kill_all() {
  processes_.signal(0, SIGKILL);
  for (const pid_t pid : launched()) ::kill(pid, SIGKILL);
}

void AgentStopper::check() {
  const auto now = Clock::now();
  if (!tools_terminated_ && now >= tools_at_) terminate_tools();
  if (now >= kill_at_) {
    // From when it was sent: the whole pod may have been frozen until then.
    if (!killed_at_) killed_at_ = now;
    kill_all();
  }
  // Scanning /proc is not free: only once our own children are gone.
  if (!processes_.any_running() && launched().empty() && processes_.empty()) {
    return finish();
  }
  if (killed_at_ && now - *killed_at_ >= kUnkillable) {
    const std::string why = why_not_ended(
        launched(),
        std::chrono::duration_cast<Milliseconds>(now - *killed_at_));
    if (!why.empty()) {
      warn_(why);
      return finish();
    }
  }
  timer_.start(kPoll, [this] { check(); });
}

void AgentStopper::finish() {
  stopping_ = false;
  killed_at_.reset();
  timer_.cancel();
  for (const auto& done : std::exchange(done_, {})) done();
}

}  // namespace muster
