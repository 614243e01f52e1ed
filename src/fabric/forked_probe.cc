// SPDX-License-Identifier: Apache-2.0
#include "fabric/forked_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kMostText = 1 << 20;

std::string read_until(int fd, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  char chunk[4096];
  while (text.size() < kMostText) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wait{fd, POLLIN, 0};
    if (left.count() <= 0) break;
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n <= 0) break;
    text.append(chunk, static_cast<size_t>(n));
  }
  return text;
}

// Libraries talk on both; neither is theirs.
void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
}

}  // namespace

std::string forked_probe(int deadline_ms,
                         const std::function<void(int)>& child) {
  auto pipe = make_pipe();
  if (!pipe) return "";
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
  const pid_t pid = ::fork();
  if (pid < 0) return "";
  if (pid == 0) {
    silence();
    child(pipe->write.get());
    ::_exit(0);
  }
  pipe->write.reset();
  std::string text = read_until(pipe->read.get(), deadline);
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const size_t end = text.rfind('\n');
  text.resize(end == text.npos ? 0 : end + 1);
  return text;
}

void probe_says(int fd, const std::string& line) {
  static_cast<void>(write_all(fd, line + "\n"));
}

}  // namespace muster
