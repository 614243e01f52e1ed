// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/gpu_facts.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/listen.h"
#include "base/random.h"
#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/nvml.h"

namespace muster {

namespace {

constexpr Milliseconds kRefresh{60'000};
// A healthy driver answers in a few milliseconds, for each of many GPUs.
constexpr Milliseconds kAnswerDeadline{500};
constexpr Milliseconds kAskDeadline{20'000};
constexpr Milliseconds kRestartPause{10'000};
constexpr int kMostStarts = 4;
constexpr size_t kLongestAnswer = 1 << 20;

Milliseconds age(Clock::time_point since) {
  return std::chrono::duration_cast<Milliseconds>(Clock::now() - since);
}

// Waits until `fd` can be read, at most until `end`.
bool readable(int fd, Clock::time_point end) {
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The answers that need no lasting process: CUDA driver, MPI and UCX.
DriverAnswers ask_others() {
  const auto end = std::chrono::steady_clock::now() + kAskDeadline;
  DriverAnswers out;
  out.cuda = ask_cuda_in_child({}, end);
  out.mpi = ask_cuda_aware({}, end);
  return out;
}

void answer(int listening, void* nvml, Clock::time_point asked,
            DriverAnswers& known) {
  const UniqueFd peer(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer) return;
  known.age_ms = age(asked).count();
  known.now = nvml_lines_now(nvml);
  // A client that has gone, or reads too slowly, gets nothing.
  const std::string text = to_text(known);
  const timeval patience{1, 0};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  static_cast<void>(write_all(peer.get(), text));
}

}  // namespace

std::optional<DriverAnswers> ask_gpu_facts(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  const UniqueFd fd(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // A queue is full where no process serves it.
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0 ||
      !own_peer(fd.get())) {
    return {};
  }
  const auto end = Clock::now() + kAnswerDeadline;
  std::string text;
  char bytes[4096];
  while (text.size() < kLongestAnswer && readable(fd.get(), end)) {
    const ssize_t n = ::read(fd.get(), bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return driver_answers_from_text(text);
    text.append(bytes, static_cast<size_t>(n));
  }
  return {};
}

int gpu_facts_main(const std::string& socket) {
  ::signal(SIGPIPE, SIG_IGN);
  void* const nvml = open_nvml(kNvmlLibrary);
  if (nvml == nullptr || nvml_lines_now(nvml).empty()) return 1;
  DriverAnswers known = ask_others();
  UniqueFd listening;
  for (;;) {
    known.nvml = nvml_lines(nvml);
    if (nvml_lines_now(nvml).empty()) return 0;
    const auto asked = Clock::now();
    if (!listening) {
      auto opened = listen_on_path(socket, SOCK_STREAM);
      if (!opened) return 1;
      listening = std::move(*opened);
    }
    while (age(asked) < kRefresh) {
      if (readable(listening.get(), asked + kRefresh)) {
        answer(listening.get(), nvml, asked, known);
      }
    }
  }
}

GpuFactsProcess::~GpuFactsProcess() {
  if (pid_ == 0) return;
  reaper_.forget(pid_);  // still reaped, as a stranger
  ::kill(-pid_, SIGKILL);
}

std::string GpuFactsProcess::start(const std::string& binary) {
  if (::access("/dev/nvidiactl", F_OK) != 0) return {};
  binary_ = binary;
  remove_abandoned("gpu-facts-");
  auto directory = RuntimeDir::create_owned("gpu-facts-" + random_id());
  if (!directory) return {};
  directory_ = std::move(*directory);
  socket_ = directory_.path() + "/gpus";
  run();
  return pid_ == 0 ? std::string() : socket_;
}

// 1: it found no GPU, and another one would not either.
void GpuFactsProcess::run() {
  SpawnOptions options;
  options.argv = {binary_, "gpu-facts", socket_};
  options.env = current_environment();
  options.parent_death_signal = SIGKILL;
  const auto pid = spawn(options);
  if (!pid) return;
  ++starts_;
  pid_ = *pid;
  reaper_.watch(pid_, [this](const ChildExit& exit) {
    pid_ = 0;
    const bool useless =
        WIFEXITED(exit.wait_status) && WEXITSTATUS(exit.wait_status) == 1;
    if (useless || starts_ >= kMostStarts) return;
    again_.start(kRestartPause, [this] { run(); });
  });
}

}  // namespace muster
