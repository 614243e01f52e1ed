// SPDX-License-Identifier: Apache-2.0
#include "agent_harness.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/spawn.h"

namespace muster::test {

namespace {
using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}
}  // namespace

std::string agent_binary() { return MUSTER_AGENT_BINARY; }

std::string unique_name(const std::string& prefix) {
  static int counter = 0;
  return prefix + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(++counter);
}

bool eventually(const std::function<bool()>& condition, double seconds) {
  const auto deadline = after(seconds);
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

AgentHarness::AgentHarness(Environment extra_env) {
  ::signal(SIGPIPE, SIG_IGN);
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocol;
  hello.version = "test";
  hello.launch_id = unique_name("t");
  hello.job = unique_name("job");
  hello.incarnation = "one";
  hello.node = 1;
  hello.heartbeat_ms = 200;
  hello.silence_ms = 30000;
  hello.grace_ms = 500;
  auto pair = make_socketpair(SOCK_STREAM);
  SpawnOptions options;
  options.argv = {agent_binary(), "agent"};
  options.env = current_environment();
  for (const auto& [name, value] : extra_env) {
    set_env(options.env, name, value);
  }
  options.fds = {{pair->write.get(), 0}, {pair->write.get(), 1}, {2, 2}};
  options.parent_death_signal = SIGKILL;
  pid_ = spawn(options).value_or(0);
  socket_ = std::move(pair->read);
}

AgentHarness::~AgentHarness() {
  hang_up();
  if (pid_ == 0) return;
  if (wait_agent(8) == -1) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void AgentHarness::send(wire::FrameType type, uint32_t id,
                        const std::string& payload, uint8_t flags) {
  std::string bytes;
  wire::encode(type, flags, static_cast<uint16_t>(hello.node), id, payload,
               bytes);
  send_raw(bytes);
}

void AgentHarness::send_raw(const std::string& bytes) {
  static_cast<void>(write_all(socket_.get(), bytes));
}

bool AgentHarness::run_until(const std::function<bool()>& done,
                             double seconds) {
  const auto deadline = after(seconds);
  while (!done()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<long>(left.count(), 20))) !=
        1) {
      continue;
    }
    std::array<char, 65536> bytes;
    const ssize_t n = ::read(socket_.get(), bytes.data(), bytes.size());
    if (n <= 0) return done();
    std::string_view rest(bytes.data(), static_cast<size_t>(n));
    for (auto frame = reader_.next(rest); frame && *frame;
         frame = reader_.next(rest)) {
      handle(**frame);
    }
  }
  return true;
}

void AgentHarness::handle_output(const wire::Frame& frame) {
  ProcessLog& log = processes[frame.id];
  const auto output = wire::parse_output(frame.payload);
  if (!output) return;
  const bool is_out = (frame.flags & wire::kStreamMask) == wire::kStdout;
  (is_out ? log.out : log.err).append(output->bytes);
  if (is_out) {
    log.out_pieces.emplace_back(output->bytes);
    log.out_flags.push_back(frame.flags);
  }
  if ((frame.flags & wire::kEnd) != 0) {
    (is_out ? log.out_ended : log.err_ended) = true;
  } else if (give_credit && !output->bytes.empty()) {
    send(wire::FrameType::kOutputCredit, frame.id,
         wire::u32_payload(static_cast<uint32_t>(output->bytes.size())),
         frame.flags & wire::kStreamMask);
  }
}

void AgentHarness::handle(const wire::Frame& frame) {
  using wire::FrameType;
  ProcessLog& log = processes[frame.id];
  switch (frame.type) {
    case FrameType::kOutput:
      handle_output(frame);
      return;
    case FrameType::kStarted:
      log.started = *wire::from_json<wire::Started>(frame.payload);
      break;
    case FrameType::kStartFailed:
      log.failed = *wire::from_json<wire::StartFailed>(frame.payload);
      break;
    case FrameType::kAttached:
      log.attached = *wire::from_json<wire::Attached>(frame.payload);
      break;
    case FrameType::kStdinCredit:
      log.stdin_credit += *wire::parse_u32(frame.payload);
      break;
    case FrameType::kExited:
      log.exited = *wire::from_json<wire::Exited>(frame.payload);
      log.ended_before_exit = log.out_ended && log.err_ended;
      break;
    case FrameType::kHeartbeat:
      if (answer_heartbeats) send(FrameType::kHeartbeat, 0, "");
      break;
    default:
      break;
  }
  frames[frame.type].push_back(frame);
}

bool AgentHarness::say_hello(double seconds) {
  send(wire::FrameType::kHello, 0, wire::to_json(hello));
  return run_until(
      [this] { return !frames[wire::FrameType::kHelloReply].empty(); },
      seconds);
}

bool AgentHarness::start(uint32_t id, const std::string& script) {
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c", script};
  return start(id, request);
}

bool AgentHarness::start(uint32_t id, const wire::StartRequest& request) {
  send(wire::FrameType::kStart, id, wire::to_json(request));
  return run_until([this, id] {
           return processes[id].started.has_value() ||
                  processes[id].failed.has_value();
         }) &&
         processes[id].started.has_value();
}

bool AgentHarness::wait_exit(uint32_t id, double seconds) {
  return run_until([this, id] { return processes[id].exited.has_value(); },
                   seconds);
}

int AgentHarness::wait_agent(double seconds) {
  int status = 0;
  const bool gone = eventually(
      [this, &status] {
        if (socket_) run_until([] { return false; }, 0.02);
        return ::waitpid(pid_, &status, WNOHANG) == pid_;
      },
      seconds);
  if (!gone) return -1;
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace muster::test
