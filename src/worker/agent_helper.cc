// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_helper.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/spawn.h"

namespace muster {

namespace {
constexpr size_t kLongestAnswer = 4 << 20;
}

AgentHelper::AgentHelper(Loop& loop, Reaper& reaper, const std::string& binary,
                         const std::string& subcommand,
                         const std::string& input, Milliseconds deadline,
                         Done done)
    : loop_(loop), reaper_(reaper), done_(std::move(done)), deadline_(loop) {
  if (!start(binary, subcommand, input)) {
    deadline_.start(Milliseconds(0), [this] { finish(false); });
    return;
  }
  deadline_.start(deadline, [this] { finish(false); });
}

AgentHelper::~AgentHelper() {
  if (pid_ == 0) return;
  reaper_.forget(pid_);  // still reaped, as a stranger
  ::kill(-pid_, SIGKILL);
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
  options.raise_soft_limits = false;  // it reports the limits that we have
  options.fds = {{in.get(), 0}, {pipe->write.get(), 1}};
  const auto pid = spawn(options);
  if (!pid) return tl::unexpected(pid.error());
  pid_ = *pid;
  reaper_.watch(pid_, [this](const ChildExit&) { pid_ = 0; });
  out_ = std::move(pipe->read);
  set_nonblocking(out_.get());
  watch_.emplace(loop_, out_.get());
  watch_->on_readable([this] { read_some(); });
  return {};
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
  deadline_.cancel();
  const Done done = std::exchange(done_, nullptr);
  if (!done) return;
  std::optional<std::string> answer;
  if (complete && !answer_.empty()) answer = std::move(answer_);
  done(std::move(answer));
}

}  // namespace muster
