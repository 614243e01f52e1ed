// SPDX-License-Identifier: Apache-2.0
// That nothing above a number is inherited, on any kernel.
#include "base/close_from.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/fd.h"
#include "base/spawn.h"
#include "catch.h"
#include "old_kernel.h"

namespace muster {
namespace {

constexpr int kKept = 90;
constexpr int kLow = 91;
constexpr int kMany = 600;   // more than one read of the directory lists
constexpr int kHigh = 5000;  // far above what old programs loop to

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
bool ends_at_exec(int fd) { return ::fcntl(fd, F_GETFD) == FD_CLOEXEC; }

// Exit code of a child that holds the descriptors kKept to kKept + kMany, and
// kHigh.
int in_child(const std::function<int()>& rest) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    raise_descriptor_limit();
    const int null = ::open("/dev/null", O_RDONLY);
    for (int fd = kKept; fd <= kKept + kMany; ++fd) ::dup2(null, fd);
    if (::dup2(null, kHigh) != kHigh) ::_exit(90);
    ::_exit(rest());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int close_and_look() {
  close_on_exec_from(kKept + kMany);
  if (ends_at_exec(kKept + kMany - 1) || !ends_at_exec(kKept + kMany)) return 1;
  if (!ends_at_exec(kHigh)) return 2;
  close_from(kLow);
  if (!is_open(kKept)) return 3;
  for (int fd = kLow; fd <= kKept + kMany; ++fd) {
    if (is_open(fd)) return 4;
  }
  return is_open(kHigh) ? 5 : 0;
}

TEST_CASE("descriptors from a number on are ended on any kernel") {
  CHECK(in_child(close_and_look) == 0);
  CHECK(in_child([] { return become_old_kernel() ? close_and_look() : 91; }) ==
        0);
  // As profiles of container runtimes refuse what they do not know.
  CHECK(in_child([] {
          return become_old_kernel(EPERM) ? close_and_look() : 91;
        }) == 0);
}

TEST_CASE("no descriptor of ours leaks into a program on an old kernel") {
  CHECK(in_child([] {
          if (!become_old_kernel()) return 91;
          SpawnOptions options;
          options.argv = {"/bin/sh", "-c",
                          "! test -e /proc/self/fd/" + std::to_string(kHigh)};
          options.env = {{"PATH", "/usr/bin:/bin"}};
          const auto pid = spawn(options);
          if (!pid) return 92;
          int status = 0;
          ::waitpid(*pid, &status, 0);
          return status == 0 ? 0 : 1;
        }) == 0);
}

}  // namespace
}  // namespace muster
