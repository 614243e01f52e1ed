// SPDX-License-Identifier: Apache-2.0
// Closed standard streams and an ignored SIGCHLD, in a child of their own.
#include "base/inherited_state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "catch.h"

namespace muster {
namespace {

int status_of(int (*work)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE(
    "closed standard streams are taken, and neither give nor take anything") {
  CHECK(status_of([] {
          for (int fd = 0; fd <= 2; ++fd) ::close(fd);
          mend_inherited_state();
          if (::open("/dev/null", O_RDONLY) <= 2) return 1;
          char byte = 0;
          if (::read(0, &byte, 1) >= 0 || errno != EBADF) return 2;
          if (::write(2, "x", 1) >= 0 || errno != EBADF) return 3;
          return 0;
        }) == 0);
}

TEST_CASE("standard streams that are open stay what they are") {
  CHECK(status_of([] {
          int ends[2];
          if (::pipe(ends) != 0 || ::dup2(ends[1], 1) != 1) return 1;
          ::close(0);
          mend_inherited_state();
          char byte = 0;
          return ::write(1, "x", 1) == 1 && ::read(ends[0], &byte, 1) == 1 ? 0
                                                                           : 2;
        }) == 0);
}

TEST_CASE("a child's exit status is kept though SIGCHLD was ignored") {
  CHECK(status_of([] {
          ::signal(SIGCHLD, SIG_IGN);
          mend_inherited_state();
          const pid_t child = ::fork();
          if (child == 0) ::_exit(7);
          int status = 0;
          if (::waitpid(child, &status, 0) != child) return 1;
          return WEXITSTATUS(status) == 7 ? 0 : 2;
        }) == 0);
}

}  // namespace
}  // namespace muster
