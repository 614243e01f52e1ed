// SPDX-License-Identifier: Apache-2.0
#include "worker/session/agent_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/process_table.h"
#include "base/runtime_dir.h"
#include "base/text.h"
#include "job/agent_holders.h"
#include "worker/base/agent_sweep.h"

namespace muster {

namespace {

constexpr Milliseconds kPoll{50};
// Beyond the old agent's grace: its own stop, sweep and flush.
constexpr Milliseconds kSlack{2000};

std::vector<AgentHolder> other_holders(const std::string& area,
                                       const std::string& incarnation) {
  auto out = agent_holders(area);
  std::erase_if(out, [&incarnation](const AgentHolder& holder) {
    return holder.pid == ::getpid() ||
           (holder.alive && holder.incarnation == incarnation);
  });
  return out;
}

}  // namespace

AgentLock::AgentLock(Loop& loop) : timer_(loop) {}

AgentLock::~AgentLock() {
  if (file_.empty()) return;
  ::unlink(file_.c_str());
  // A process that waits for the lock notices that the file has gone.
  const UniqueFd guard(::open(lock_path().c_str(), O_RDWR | O_CLOEXEC));
  if (!guard || ::flock(guard.get(), LOCK_EX | LOCK_NB) != 0) return;
  remove_empty_area(area_);
}

void AgentLock::acquire(Claim claim, std::function<void(Result<int>)> done) {
  claim_ = std::move(claim);
  done_ = std::move(done);
  kill_at_ = Clock::now() + claim_.grace + kSlack;
  give_up_at_ = kill_at_ + claim_.grace + 2 * kSlack;
  step();
}

void AgentLock::step() {
  if (Clock::now() >= give_up_at_) {
    return finish(fail(Error{
        "busy",
        "this pod is held by another launch of the same job",
        "its agent did not leave in time",
        {},
        "delete the worker pod, or wait until the other launch has ended"}));
  }
  const auto held = take_lock();
  if (!held) return finish(tl::unexpected(held.error()));
  if (*held) {
    evict_others();
  } else {
    timer_.start(kPoll, [this] { step(); });
  }
}

std::string AgentLock::lock_path() const { return agent_area_lock(area_); }

Result<bool> AgentLock::take_lock() {
  if (!guard_) {
    auto area = RuntimeDir::create(agent_area_name(claim_.job));
    if (!area) return tl::unexpected(area.error());
    area_ = area->path();
    area->keep();
    guard_.reset(
        ::open(lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  if (!guard_ && errno == ENOENT) return false;  // just cleaned up
  if (!guard_) {
    return fail_errno("no_writable_dir", "cannot lock the pod", area_);
  }
  if (::flock(guard_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    return fail_errno("no_writable_dir", "cannot lock the pod (flock)", area_);
  }
  struct stat locked {};
  struct stat named {};
  const bool current = ::fstat(guard_.get(), &locked) == 0 &&
                       ::stat(lock_path().c_str(), &named) == 0 &&
                       locked.st_ino == named.st_ino &&
                       locked.st_dev == named.st_dev;
  if (!current) guard_.reset();
  return current;
}

void AgentLock::evict_others() {
  bool waiting = false;
  bool swept = false;
  const bool kill_now = Clock::now() >= kill_at_;
  const auto holders = other_holders(area_, claim_.incarnation);
  for (const AgentHolder& holder : holders) {
    if (holder.alive) {
      if (!terminated_) ++evicted_;
      if (kill_now) {
        ::kill(holder.pid, SIGKILL);
      } else if (!terminated_) {
        ::kill(holder.pid, SIGTERM);
      }
      waiting = true;
      continue;
    }
    // An agent of our own launch may sweep beside us; ours is never swept.
    if (holder.launch_id == claim_.launch_id) continue;
    swept = true;
    for (const pid_t pid :
         processes_with_env(kLaunchIdVariable, holder.launch_id)) {
      if (!is_alive(pid)) continue;
      ::kill(pid, SIGKILL);
      waiting = true;
    }
  }
  terminated_ = true;
  // A process in the middle of an exec shows no environment: one look cannot
  // prove that it has gone.
  if (waiting || (swept && !std::exchange(looked_, true))) {
    timer_.start(kPoll, [this] { step(); });
    return;
  }
  for (const AgentHolder& holder : holders) {
    if (holder.launch_id != claim_.launch_id) {
      remove_run_directory(holder.agent_key);
    }
    ::unlink(holder.file.c_str());
  }
  if (auto claimed = claim_file(); !claimed) {
    return finish(tl::unexpected(claimed.error()));
  }
  finish(evicted_);
}

Status AgentLock::claim_file() {
  file_ = area_ + "/" + std::to_string(::getpid());
  return write_file_atomically(
      file_,
      std::to_string(start_time(::getpid())) + "\n" + claim_.incarnation +
          "\n" + claim_.launch_id + "\n" + claim_.agent_key + "\nend\n",
      0600);
}

void AgentLock::finish(Result<int> result) {
  timer_.cancel();
  guard_.reset();  // releases the lock
  const auto done = std::exchange(done_, nullptr);
  if (done) done(std::move(result));
}

}  // namespace muster
