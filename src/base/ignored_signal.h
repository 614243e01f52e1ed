// SPDX-License-Identifier: Apache-2.0
// Signals that nohup, or a shell with "&", had us ignore stay ignored: a
// signalfd and sigwait() would report them all the same. Any thread.
#pragma once

#include <signal.h>

namespace muster {

inline bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace muster
