// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/forked_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMostText = 1 << 20;
constexpr milliseconds kSlice{250};
constexpr int64_t kWorkNs = 5'000'000;  // per slice: more than waking up takes
constexpr int kDone = 0;                // the child's exit code

// Processor time of a process in nanoseconds; -1 if it cannot be asked.
int64_t used_ns(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0) return -1;
  if (::clock_gettime(clock, &time) != 0) return -1;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Reads until the child closes its end; false if it was given up.
bool read_patiently(int fd, pid_t pid, const ProbePatience& patience,
                    std::string& text) {
  const auto start = Clock::now();
  const auto end = start + milliseconds(patience.total_ms);
  auto quiet_until = start + milliseconds(patience.silence_ms);
  int64_t used = used_ns(pid);
  char chunk[4096];
  while (text.size() < kMostText) {
    const auto now = Clock::now();
    const auto left = std::chrono::ceil<milliseconds>(
        std::min({end, quiet_until, now + kSlice}) - now);
    if (now >= end || now >= quiet_until) return false;
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    bool moved = false;
    if (ready > 0) {
      const ssize_t n = ::read(fd, chunk, sizeof chunk);
      if (n <= 0) return true;
      text.append(chunk, static_cast<size_t>(n));
      moved = true;
    } else if (const int64_t more = used_ns(pid); more > used + kWorkNs) {
      used = more;
      moved = true;
    }
    if (moved) quiet_until = Clock::now() + milliseconds(patience.silence_ms);
  }
  return true;
}

// The child's exit status. One that closed its end is at its exit already; one
// that is still there after a second is killed.
int reap(pid_t pid, bool closed) {
  int status = 0;
  for (int tries = closed ? 1000 : 0; tries > 0; --tries) {
    const pid_t done = ::waitpid(pid, &status, WNOHANG);
    if (done == pid) return status;
    if (done < 0 && errno != EINTR) return status;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Libraries talk on both; neither is theirs.
void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
}

}  // namespace

ProbePatience patience_until(Clock::time_point end) {
  ProbePatience out;
  const auto left =
      std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
  out.total_ms = static_cast<int>(std::clamp<int64_t>(left, 0, out.total_ms));
  return out;
}

ForkedProbe::ForkedProbe(const std::function<void(int)>& child) {
  auto pipe = make_pipe();
  if (!pipe) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    silence();
    child(pipe->write.get());
    ::_exit(kDone);
  }
  if (pid_ > 0) read_ = std::move(pipe->read);
}

ForkedProbe::~ForkedProbe() {
  if (pid_ > 0) reap(pid_, false);
}

ForkedResult ForkedProbe::finish(const ProbePatience& patience) {
  ForkedResult out;
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0) return out;
  const auto start = Clock::now();
  const bool closed = read_patiently(read_.get(), pid, patience, out.text);
  out.waited_ms = static_cast<int>(
      std::chrono::duration_cast<milliseconds>(Clock::now() - start).count());
  const int status = reap(pid, closed);
  const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == kDone;
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  out.end = !closed    ? ForkedResult::End::kGivenUp
            : finished ? ForkedResult::End::kFinished
                       : ForkedResult::End::kDied;
  const size_t last = out.text.rfind('\n');
  out.text.resize(last == std::string::npos ? 0 : last + 1);
  return out;
}

ForkedResult probe_in_child(const ProbePatience& patience,
                            const std::function<void(int)>& child) {
  return ForkedProbe(child).finish(patience);
}

std::string forked_probe(int deadline_ms,
                         const std::function<void(int)>& child) {
  return probe_in_child({deadline_ms, deadline_ms}, child).text;
}

void probe_says(int fd, const std::string& line) {
  static_cast<void>(write_all(fd, line + "\n"));
}

std::string probe_failure_text(const ForkedResult& result) {
  if (result.end == ForkedResult::End::kGivenUp) {
    const int seconds = std::max(1, (result.waited_ms + 500) / 1000);
    return "did not answer within " + std::to_string(seconds) + " s";
  }
  if (result.signal == 0) return "died here";
  return "died here (signal " + std::to_string(result.signal) + ")";
}

}  // namespace muster
