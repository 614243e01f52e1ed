// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/cpu_mask.h"
#include "base/fd.h"
#include "job/cpu_list.h"
#include "worker/rank/rank_protocol.h"

namespace muster {

namespace {

// The same stop signal within this time comes from two senders of one stop.
constexpr std::chrono::milliseconds kEcho{250};

// Remembers when it passed each stop signal on.
class EchoFilter {
 public:
  bool is_echo(int number) {
    if (number != SIGTERM && number != SIGINT && number != SIGHUP &&
        number != SIGQUIT) {
      return false;
    }
    const auto now = std::chrono::steady_clock::now();
    const auto [last, first] = last_.try_emplace(number, now);
    if (first || now - last->second > kEcho) {
      last->second = now;
      return false;
    }
    return true;
  }

 private:
  std::map<int, std::chrono::steady_clock::time_point> last_;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void bind_rank(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const int error = bind_to(cpu_mask(cpus));
  if (error == 0) return;
  std::fprintf(stderr, "muster-agent: this rank is not bound to CPUs %s: %s\n",
               cpu_list_text(cpus).c_str(), strerror(error));
}

bool is_elf(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  char magic[4];
  return file && ::read(file.get(), magic, sizeof magic) == sizeof magic &&
         std::memcmp(magic, "\177ELF", sizeof magic) == 0;
}

[[noreturn]] void become(const RankCommand& command, pid_t parent,
                         const sigset_t& mask, int out, int err, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  int error = 0;
  if (::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) {
    error = errno;
  } else {
    bind_rank(command.cpus);
    error = exec_rank(command);
  }
  [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

int exec_rank(const RankCommand& command) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> env;
  for (const auto& [name, value] : command.env) {
    env.push_back(name + "=" + value);
  }
  if (argv[0].find('/') != std::string::npos) {
    // execvpe() lets sh read a file that the kernel refuses: right for a script
    // without a first line, wrong for a program of another machine.
    ::execve(argv[0].c_str(), pointers(argv).data(), pointers(env).data());
    if (errno != ENOEXEC) return errno;
    if (is_elf(argv[0].c_str())) return ENOEXEC;
  }
  ::execvpe(argv[0].c_str(), pointers(argv).data(), pointers(env).data());
  return errno;
}

tl::expected<RankChild, int> start_rank(const RankCommand& command, int out,
                                        int err) {
  auto report = make_pipe();
  if (!report) return tl::unexpected(errno);
  RankChild child;
  sigemptyset(&child.waited);
  sigaddset(&child.waited, SIGCHLD);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (rank_wrapper_forwards(number)) sigaddset(&child.waited, number);
  }
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &child.waited, &before);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) return tl::unexpected(errno);
  if (child.pid == 0) {
    become(command, parent, before, out, err, report->write.get());
  }
  report->write.reset();
  int error = 0;
  ssize_t n;
  do {
    n = ::read(report->read.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof error) return child;
  while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return tl::unexpected(error);
}

ChildExit wait_for_rank(const RankChild& child) {
  ChildExit exit;
  EchoFilter echoes;
  for (;;) {
    exit.pid = ::wait4(child.pid, &exit.wait_status, WNOHANG, &exit.usage);
    if (exit.pid == child.pid) return exit;
    siginfo_t info{};
    const int number = ::sigwaitinfo(&child.waited, &info);
    if (number <= 0 || number == SIGCHLD || echoes.is_echo(number)) continue;
    ::kill(-child.pid, number);
  }
}

int leave_like(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int number = WTERMSIG(wait_status);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), number);
  return 128 + number;
}

}  // namespace muster
