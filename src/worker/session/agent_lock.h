// SPDX-License-Identifier: Apache-2.0
// AgentLock: one launcher incarnation per job in a pod. Agents of the same
// incarnation coexist (two mpiruns of one launcher). Agents of another one
// belong to a dead launcher, and the lock evicts them: TERM, wait, KILL, then
// everything that carries their launch id. Each agent leaves a file AREA/PID
// that names it; the lock sweeps and removes a file whose process has ended or
// is another one by now (start time). Refuses: to wait longer than the deadline
// for another agent that evicts. Owns its own file; the last one removes the
// area. Loop thread.
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster {

class AgentLock {
 public:
  struct Claim {
    std::string job;
    std::string incarnation;
    std::string launch_id;
    std::string agent_key;     // also the name of its run directory
    Milliseconds grace{5000};  // the old agent's own grace, before KILL
  };

  explicit AgentLock(Loop& loop);
  ~AgentLock();
  AgentLock(const AgentLock&) = delete;
  AgentLock& operator=(const AgentLock&) = delete;

  // `done` with an error (code "busy", "no_writable_dir") if the pod is not
  // available; `evicted` counts the agents that it ended.
  void acquire(Claim claim, std::function<void(Result<int> evicted)> done);

 private:
  void step();
  void evict_others();
  // false: another agent has it, try again.
  Result<bool> take_lock();
  [[nodiscard]] std::string lock_path() const;
  Status claim_file();
  void finish(Result<int> result);

  Claim claim_;
  std::function<void(Result<int>)> done_;
  std::string area_;
  std::string file_;
  UniqueFd guard_;
  int evicted_ = 0;
  bool terminated_ = false;
  bool looked_ = false;  // for leftovers of a dead agent, in vain
  Clock::time_point kill_at_;
  Clock::time_point give_up_at_;
  Timer timer_;
};

}  // namespace muster
