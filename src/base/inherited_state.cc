// SPDX-License-Identifier: Apache-2.0
#include "base/inherited_state.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace muster {

void mend_inherited_state() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Read only: what is written to a closed one fails as before, so that the
    // loss is seen and counted. The lowest free number is `fd`.
    static_cast<void>(::open("/dev/null", O_RDONLY));
  }
  ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace muster
