// SPDX-License-Identifier: Apache-2.0
// Reaper: the only caller of wait() in a process. Reaps every child, known or
// adopted (subreaper, pid 1), and passes the status to the code that asked for
// it. Refuses: a second Reaper in one process; popen(), libraries that fork.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <map>

#include "base/loop.h"

namespace muster {

struct ChildExit {
  pid_t pid = 0;
  int wait_status = 0;  // as waitpid() gives it
  rusage usage{};       // of the child and its waited-for descendants
};

class Reaper {
 public:
  explicit Reaper(Loop& loop);

  // `handler` runs once, on the loop, when `pid` has been reaped. Call it in
  // the callback that spawned the child: reaping happens only on the loop, so
  // an exit cannot be missed in between, and a reused pid not mistaken.
  void watch(pid_t pid, std::function<void(const ChildExit&)> handler);
  void forget(pid_t pid);
  // Reports the next stop of `pid`, which this process traces. Ignores the
  // stops of others.
  void watch_stop(pid_t pid, std::function<void(int wait_status)> handler);

 private:
  void reap();

  SignalWatch signal_;
  std::map<pid_t, std::function<void(const ChildExit&)>> handlers_;
  std::map<pid_t, std::function<void(int)>> stops_;
};

}  // namespace muster
