// SPDX-License-Identifier: Apache-2.0
// What nohup, or a shell for what it starts with "&", had us ignore is to stay
// ignored: a signalfd and sigwait() would tell of it all the same. Any thread.
#pragma once

#include <signal.h>

namespace muster {

inline bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace muster
