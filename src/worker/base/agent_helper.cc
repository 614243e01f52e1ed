// SPDX-License-Identifier: Apache-2.0
#include "worker/base/agent_helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/close_from.h"
#include "base/spawn.h"

namespace muster {

namespace {
constexpr size_t kLongestAnswer = 4 << 20;

// The forked child. An exec would cost more than most of the work does.
[[noreturn]] void run_child(const AgentHelper::Work& work, pid_t parent,
                            int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setsid();  // so that its children go with it
  for (const int signal :
       {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The launcher must see the end of the agent, even if this child hangs.
  constexpr int kOut = 3;
  if (out != kOut) ::dup2(out, kOut);
  ::fcntl(kOut, F_SETFD, FD_CLOEXEC);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, 0);
    ::dup2(null, 1);
  }
  close_from(kOut + 1);
  const bool written = write_all(kOut, work()).has_value();
  // Threads may still sit in the resolver; they are not worth waiting for.
  ::_exit(written ? 0 : 1);
}

}  // namespace

AgentHelper::AgentHelper(Loop& loop, Reaper& reaper, const std::string& binary,
                         const std::string& subcommand,
                         const std::string& input, Milliseconds deadline,
                         Done done)
    : loop_(loop), reaper_(reaper), done_(std::move(done)), deadline_(loop) {
  run(start(binary, subcommand, input), deadline);
}

AgentHelper::AgentHelper(Loop& loop, Reaper& reaper, const Work& work,
                         Milliseconds deadline, Done done)
    : loop_(loop), reaper_(reaper), done_(std::move(done)), deadline_(loop) {
  run(start(work), deadline);
}

void AgentHelper::run(const Status& start, Milliseconds deadline) {
  deadline_.start(start ? deadline : Milliseconds(0),
                  [this] { finish(false); });
}

AgentHelper::~AgentHelper() { end(); }

void AgentHelper::end() {
  if (pid_ == 0) return;
  reaper_.forget(pid_);  // the reaper still reaps it, as unknown
  ::kill(-std::exchange(pid_, 0), SIGKILL);
}

Status AgentHelper::start(const std::string& binary,
                          const std::string& subcommand,
                          const std::string& input) {
  // A file in memory instead of a pipe: it takes any size without a writer.
  UniqueFd in(::memfd_create("muster-helper-input", MFD_CLOEXEC));
  if (!in) return fail_errno("resources", "memfd_create");
  if (auto written = write_all(in.get(), input); !written) return written;
  ::lseek(in.get(), 0, SEEK_SET);
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());

  SpawnOptions options;
  options.argv = {binary, subcommand};
  options.env = current_environment();
  options.parent_death_signal = SIGKILL;
  options.raise_soft_limits = false;  // it reports our limits
  options.fds = {{in.get(), 0}, {pipe->write.get(), 1}};
  const auto pid = spawn(options);
  if (!pid) return tl::unexpected(pid.error());
  started(*pid, std::move(pipe->read));
  return {};
}

// libpmix, the only one here with threads, starts after all facts are known;
// and this child does not use it.
Status AgentHelper::start(const Work& work) {
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, parent, pipe->write.get());
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (pid < 0) return fail_errno("resources", "cannot fork a helper");
  started(pid, std::move(pipe->read));
  return {};
}

void AgentHelper::started(pid_t pid, UniqueFd out) {
  pid_ = pid;
  reaper_.watch(pid_, [this](const ChildExit&) { pid_ = 0; });
  out_ = std::move(out);
  set_nonblocking(out_.get());
  watch_.emplace(loop_, out_.get());
  watch_->on_readable([this] { read_some(); });
}

void AgentHelper::read_some() {
  std::array<char, 16384> bytes;
  const ssize_t n = ::read(out_.get(), bytes.data(), bytes.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return finish(n == 0);
  answer_.append(bytes.data(), static_cast<size_t>(n));
  if (answer_.size() > kLongestAnswer) finish(false);
}

void AgentHelper::finish(bool complete) {
  watch_.reset();
  out_.reset();
  deadline_.cancel();
  end();
  const Done done = std::exchange(done_, nullptr);
  if (!done) return;
  std::optional<std::string> answer;
  if (complete && !answer_.empty()) answer = std::move(answer_);
  done(std::move(answer));
}

}  // namespace muster
