// SPDX-License-Identifier: Apache-2.0
#include "base/forwarded_signals.h"

#include <signal.h>

#include "base/ignored_signal.h"

namespace muster {

bool is_forwarded(int signal) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGABRT:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGIO:
    case SIGPWR:
    case SIGSTKFLT:
    case SIGURG:
    case SIGCONT:
      return true;
    default:  // the C library keeps those below SIGRTMIN to itself
      return signal >= SIGRTMIN && signal <= SIGRTMAX;
  }
}

std::vector<int> forwarded_signals() {
  std::vector<int> out;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (is_forwarded(signal) && !is_ignored(signal)) out.push_back(signal);
  }
  return out;
}

bool is_harmless(int signal) { return signal == SIGURG || signal == SIGCONT; }

}  // namespace muster
