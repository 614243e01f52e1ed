// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/process_transport.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/process_table.h"
#include "base/random.h"
#include "job/agent_holders.h"
#include "launcher/connect/agent_ended.h"
#include "wire/agent_tag.h"

namespace muster {

namespace {

// Between the end of a program's output and its own.
constexpr Milliseconds kExitFollows{1'000};

void signal_tagged(const std::string& tag, int signal) {
  for (const pid_t pid : processes_with_env(kAgentTagVariable, tag)) {
    ::kill(pid, signal);
  }
}

// Finds a rank's children: the ranks themselves die with their agent. A process
// in the middle of an exec has no environment for a moment, so this looks
// several times.
void clear_after(const std::string& tag) {
  constexpr int kLooks = 3;
  constexpr std::chrono::milliseconds kBetween{10};
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kBetween);
    signal_tagged(tag, SIGKILL);
  }
  clear_after_killed_agents();
}

}  // namespace

ProcessTransport::ProcessTransport(Loop& loop, Reaper& reaper, std::string host,
                                   Child child, std::vector<std::string> argv,
                                   Environment env)
    : loop_(loop),
      reaper_(reaper),
      host_(std::move(host)),
      child_(child),
      argv_(std::move(argv)),
      env_(std::move(env)),
      exit_follows_(loop) {}

// A closed stdin orders the agent to leave. The Reaper collects it.
ProcessTransport::~ProcessTransport() {
  *alive_ = false;
  if (*pid_ <= 0) return;
  if (child_ == Child::kCarrier) {
    ::kill(-*pid_, SIGTERM);
    *pid_ = 0;
  } else if (silent_) {
    ::kill(*pid_, SIGKILL);
    clear_after(tag_);
  }
}

// Its ranks still get the order to end.
void ProcessTransport::agent_is_silent() {
  silent_ = true;
  if (child_ == Child::kAgent) signal_tagged(tag_, SIGTERM);
}

void ProcessTransport::start(TransportEvents events) {
  events_ = std::move(events);
  events_.on_step("agent");
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (*pipe) continue;
    Error error = pipe->error();
    error.where = host_;
    return close(std::move(error));
  }
  tag_ = random_id();
  SpawnOptions options;
  options.argv = argv_;
  options.env = env_;
  set_env(options.env, kAgentTagVariable, tag_);
  options.fds = {
      {in->read.get(), 0}, {out->write.get(), 1}, {err->write.get(), 2}};
  if (child_ == Child::kCarrier) options.parent_death_signal = SIGTERM;
  const auto pid = spawn(options);
  if (!pid) {
    Error error = pid.error();
    error.where = host_;
    close(std::move(error));
    return;
  }
  *pid_ = *pid;
  reaper_.watch(*pid, [this, alive = alive_, tag = tag_,
                       running = pid_](const ChildExit& exit) {
    const bool ours = *running == 0;  // the signal was
    *running = 0;
    if (!ours && WIFSIGNALED(exit.wait_status)) clear_after(tag);
    if (!*alive) return;
    wait_status_ = exit.wait_status;
    if (at_end_) tell_end();
  });
  stdin_ = std::move(in->write);
  stdout_ = std::move(out->read);
  stderr_ = std::move(err->read);
  for (const UniqueFd* fd : {&stdin_, &stdout_, &stderr_}) {
    set_nonblocking(fd->get());
  }
  stdin_watch_ = std::make_unique<FdWatch>(loop_, stdin_.get());
  stdout_watch_ = std::make_unique<FdWatch>(loop_, stdout_.get());
  stderr_watch_ = std::make_unique<FdWatch>(loop_, stderr_.get());
  stdout_watch_->on_readable([this] { read_some(stdout_.get(), false); });
  stderr_watch_->on_readable([this] { read_some(stderr_.get(), true); });
  events_.on_open();
}

void ProcessTransport::read_some(int fd, bool is_stderr) {
  char buffer[65536];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) {
    const std::string_view data(buffer, static_cast<size_t>(n));
    is_stderr ? events_.on_stderr(data) : events_.on_data(data);
    return;
  }
  if (is_stderr) {
    stderr_watch_->stop_reading();
    return;
  }
  stdout_watch_->stop_reading();
  at_end_ = true;
  if (wait_status_) return tell_end();
  exit_follows_.start(kExitFollows, [this] { tell_end(); });
}

void ProcessTransport::tell_end() {
  exit_follows_.cancel();
  if (wait_status_ && WIFEXITED(*wait_status_)) {
    return close(agent_ended(host_, WEXITSTATUS(*wait_status_)));
  }
  close(
      Error{"agent_exited", "the agent ended", "end of its output", host_, {}});
}

void ProcessTransport::send(std::string_view bytes) {
  if (!stdin_) return;
  const bool idle = out_.empty();
  out_.append(bytes);
  if (idle) write_some();
}

void ProcessTransport::write_some() {
  while (!out_.empty()) {
    const ssize_t n = ::write(stdin_.get(), out_.data(), out_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      stdin_watch_->on_writable([this] { write_some(); });
      return;
    }
    if (n < 0) {  // the end of stdout reports its end
      out_.clear();
      break;
    }
    above_ = above_ || out_.size() >= kQueueMark;
    out_.erase(0, static_cast<size_t>(n));
  }
  stdin_watch_->stop_writing();
  // The loop's next turn writes what it makes us send.
  if (std::exchange(above_, false) && events_.on_drained) {
    loop_.post([this, alive = alive_] {
      if (*alive) events_.on_drained();
    });
  }
}

void ProcessTransport::close(Error error) {
  const auto closed = std::move(events_.on_closed);
  events_.on_closed = nullptr;
  if (!closed) return;
  // Never from inside start(): the caller is still setting itself up.
  loop_.post([alive = alive_, closed, error = std::move(error)] {
    if (*alive) closed(error);
  });
}

}  // namespace muster
