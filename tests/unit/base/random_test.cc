// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>
#include <string>

#include "catch.h"

namespace muster {
namespace {

// As a pod's seccomp profile may.
bool refuse_random_numbers() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(steps), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("ids are sixteen hex digits, and differ") {
  const std::string one = random_id();
  CHECK(one.size() == 16);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != random_id());
}

TEST_CASE("without random numbers a process ends and names the remedy") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    std::signal(SIGABRT, SIG_DFL);  // Catch2 would take it for its own
    ::dup2(ends[1], STDERR_FILENO);
    if (!refuse_random_numbers()) ::_exit(1);
    static_cast<void>(random_bits());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  char some[512];
  for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof some)) > 0;) {
    said.append(some, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(said.find("seccomp profile") != std::string::npos);
  CHECK(said.find("not permitted") != std::string::npos);
}

}  // namespace
}  // namespace muster
