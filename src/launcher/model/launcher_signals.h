// SPDX-License-Identifier: Apache-2.0
// Which signals a command of the launcher heeds, from its first moment on: none
// may end it without a verdict, and as pid 1 the kernel drops those that are
// left at their default. Any thread.
#pragma once

#include <vector>

namespace muster {

struct LauncherSignals {
  std::vector<int> ending;     // TERM, INT, HUP, QUIT
  std::vector<int> forwarded;  // for the ranks (base/forwarded_signals.h)
  // A terminal's job control would stop the launcher, and its workers would
  // give it up. (Where TTOU is blocked a job of the background may write.)
  std::vector<int> terminal;

  [[nodiscard]] std::vector<int> all() const;
};

// Those that were ignored when the process started stay so.
LauncherSignals launch_signals();
// Of a command that has no ranks: every one of them ends it.
LauncherSignals check_signals();

// Says that a signal for the ranks came while none of them ran.
void note_unheard(int signal);

// Kept blocked until a SignalWatch takes them over: they stay pending.
void block_signals(const LauncherSignals& signals);

}  // namespace muster
