// SPDX-License-Identifier: Apache-2.0
// The signals that a command of the launcher handles, from its first moment on:
// none may end it without a verdict, and for pid 1 the kernel drops those that
// are left at their default. Any thread.
#pragma once

#include <vector>

namespace muster {

struct LauncherSignals {
  std::vector<int> ending;     // TERM, INT, HUP, QUIT
  std::vector<int> forwarded;  // for the ranks (base/forwarded_signals.h)
  // A terminal's job control would stop the launcher, and its workers would
  // take it for lost. (A background job may write if TTOU is blocked.)
  std::vector<int> terminal;

  [[nodiscard]] std::vector<int> all() const;
};

// Those that were ignored when the process started stay so.
LauncherSignals launch_signals();
// For a command without ranks: every one of them ends it.
LauncherSignals check_signals();

// Says that a signal for the ranks came before ranks ran.
void note_unheard(int signal);

// Kept blocked until a SignalWatch takes them over: they stay pending.
void block_signals(const LauncherSignals& signals);

}  // namespace muster
