// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "catch.h"

using namespace muster;

namespace {

// Runs `attempt` in a sandboxed child; its errno, or 0 if it succeeded.
int in_sandbox(const std::function<long()>& attempt) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!enter_sandbox()) ::_exit(77);
    errno = 0;
    ::_exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a connection child cannot do what it has no need for") {
  char* const argv[] = {const_cast<char*>("true"), nullptr};
  CHECK(in_sandbox([&] { return ::execve("/bin/true", argv, argv); }) == EPERM);
  CHECK(in_sandbox([] { return ::fork(); }) == EPERM);
  CHECK(in_sandbox([] { return ::open("/etc/passwd", O_RDONLY); }) == EPERM);
  CHECK(in_sandbox([] { return ::socket(AF_INET, SOCK_STREAM, 0); }) == EPERM);
  CHECK(in_sandbox([] { return ::kill(::getppid(), 0); }) == EPERM);
  CHECK(in_sandbox([] {
          return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr);
        }) == EPERM);
  CHECK(in_sandbox([] { return ::unlink("/nonexistent"); }) == EPERM);
  CHECK(in_sandbox([] { return ::setuid(0); }) == EPERM);
  CHECK(in_sandbox([] {
          void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          return code == MAP_FAILED ? -1L : 0L;
        }) == EPERM);
}

TEST_CASE("a connection child keeps what it needs") {
  CHECK(in_sandbox([] { return ::write(STDERR_FILENO, "", 0); }) == 0);
  CHECK(in_sandbox([] {
          void* memory = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          return memory == MAP_FAILED ? -1L : 0L;
        }) == 0);
  char byte;
  CHECK(in_sandbox([&byte] { return ::syscall(SYS_getrandom, &byte, 1, 0); }) ==
        0);
}
