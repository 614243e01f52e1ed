// SPDX-License-Identifier: Apache-2.0
#include "worker/session/exit_deadline.h"

#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("an end that hangs still has its exit code") {
  const pid_t child = ::fork();
  if (child == 0) {
    exit_at_latest(std::chrono::milliseconds(50), 80);
    ::sleep(20);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 80);
}

}  // namespace
}  // namespace muster
