// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_stopper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "worker/agent_sweep.h"

namespace muster {

namespace {
constexpr Milliseconds kPoll{25};
constexpr Milliseconds kUnkillable{10000};
}  // namespace

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
    if (!give_up_at_) give_up_at_ = now + kUnkillable;
    kill_all();
  }
  // Scanning /proc is not free: only once our own children are gone.
  std::vector<pid_t> left;
  if (!processes_.any_running()) {
    left = launched();
    if (left.empty() && processes_.empty()) return finish();
  }
  if (give_up_at_ && now >= *give_up_at_) {
    warn_((left.empty() ? std::string("a process")
                        : "process " + std::to_string(left.front())) +
          " of this job cannot be killed (it hangs inside the kernel, perhaps "
          "on a dead file system or device); the pod must be deleted to end "
          "it");
    return finish();
  }
  timer_.start(kPoll, [this] { check(); });
}

void AgentStopper::finish() {
  stopping_ = false;
  give_up_at_.reset();
  timer_.cancel();
  for (const auto& done : std::exchange(done_, {})) done();
}

}  // namespace muster
