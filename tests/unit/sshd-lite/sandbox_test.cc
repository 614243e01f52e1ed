// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sandbox.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "catch.h"
#include "sshd-lite/connection.h"

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

// As a container runtime's profile might: prctl(PR_SET_SECCOMP) fails.
void refuse_filters() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(steps), steps};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
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

TEST_CASE("nobody is served where the kernel takes no filter") {
  if (!has_system_call_filter()) return;
  ::signal(SIGPIPE, SIG_IGN);  // the child may be gone before we write
  JobKeys keys;
  keys.private_key = std::move(*SshKey::generate(KeyType::kEcdsaP256));
  const auto served = [&keys](bool filters_refused) {
    auto wire = make_socketpair(SOCK_STREAM);
    auto link = make_socketpair(SOCK_SEQPACKET);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (filters_refused) refuse_filters();
      wire->write.reset();
      ConnectionOptions options;
      options.keys = &keys;
      options.auth_timeout = Milliseconds(2000);
      serve_connection(std::move(wire->read), std::move(link->read), options);
      ::_exit(0);
    }
    wire->read.reset();
    constexpr std::string_view kVersion = "SSH-2.0-test\r\n";
    (void)write_all(wire->write.get(), std::string(kVersion));
    char byte;
    const bool answered = ::read(wire->write.get(), &byte, 1) == 1;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return answered;
  };
  CHECK(served(false));
  CHECK_FALSE(served(true));
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
