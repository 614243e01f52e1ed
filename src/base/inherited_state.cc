// SPDX-License-Identifier: Apache-2.0
#include "base/inherited_state.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace muster {

void mend_inherited_state() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The wrong way round: reading a closed stdin and writing to a closed
    // stdout still fail, so that the error shows. The lowest free number is
    // `fd`.
    static_cast<void>(
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
  ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace muster
