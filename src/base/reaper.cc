// SPDX-License-Identifier: Apache-2.0
#include "base/reaper.h"

#include <signal.h>
#include <sys/wait.h>

namespace muster {

Reaper::Reaper(Loop& loop)
    : signal_(loop, {SIGCHLD}, [this](const signalfd_siginfo&) { reap(); }) {
  // Children may have ended before the signal was blocked.
  loop.post([this] { reap(); });
}

void Reaper::watch(pid_t pid, std::function<void(const ChildExit&)> handler) {
  handlers_[pid] = std::move(handler);
}

void Reaper::forget(pid_t pid) { handlers_.erase(pid); }

void Reaper::watch_stop(pid_t pid, std::function<void(int)> handler) {
  stops_[pid] = std::move(handler);
}

void Reaper::reap() {
  for (;;) {
    ChildExit exit;
    exit.pid = ::wait4(-1, &exit.wait_status, WNOHANG, &exit.usage);
    if (exit.pid <= 0) return;
    auto stopped = stops_.extract(exit.pid);
    if (WIFSTOPPED(exit.wait_status)) {
      if (!stopped.empty()) stopped.mapped()(exit.wait_status);
      continue;
    }
    auto handler = handlers_.extract(exit.pid);
    if (!handler.empty()) handler.mapped()(exit);
  }
}

}  // namespace muster
