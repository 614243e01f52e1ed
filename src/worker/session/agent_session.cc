// SPDX-License-Identifier: Apache-2.0
#include "worker/session/agent_session.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/hostname.h"
#include "base/json_text.h"
#include "base/text.h"
#include "job/fitting_facts.h"
#include "wire/facts_request.h"
#include "worker/facts/facts_collect.h"
#include "worker/facts/facts_probe.h"
#include "worker/session/meeting_port.h"

namespace muster {

namespace {

constexpr Milliseconds kFlushDeadline{2000};
constexpr Milliseconds kFactsDeadline{45'000};
constexpr int kLongestProbeMs = 60000;
constexpr size_t kMaxEarlyFrames = 64;

void complain(const std::string& text) {
  std::fprintf(stderr, "muster-agent: %s\n", text.c_str());
}

std::string range_text(int from, int to) {
  return std::to_string(from) + " to " + std::to_string(to);
}

std::string version_mismatch(const wire::Hello& hello) {
  return "the launcher's muster " + hello.version + " speaks agent protocol " +
         range_text(hello.protocol_min, hello.protocol_max) +
         ", this pod's muster " MUSTER_VERSION " speaks " +
         range_text(wire::kProtocolMin, wire::kProtocol) +
         "; use one version of muster in both images";
}

// One agent of one launch: several may share a machine under --local.
std::string agent_key(const wire::Hello& hello) {
  return hello.launch_id + "-n" + std::to_string(hello.node);
}

// The ports that a NetworkPolicy lets in; "": all.
std::string allowed_ports() {
  const char* range = std::getenv("MUSTER_PORT_RANGE");
  return range != nullptr ? range : "";
}

}  // namespace

AgentSession::AgentSession(Loop& loop, AgentOptions options)
    : loop_(loop),
      options_(std::move(options)),
      send_([this](wire::FrameType type, uint8_t flags, uint32_t id,
                   std::string_view payload) {
        // Sends the driver's words from before a rank's end ahead of that end.
        if (type == wire::FrameType::kExited) gpu_watch_.catch_up();
        channel_.send(type, flags, id, payload);
      }),
      health_(options_.root),
      memory_watch_(loop, health_, [this] { heartbeat(); }),
      reaper_(loop),
      gpu_watch_(loop, reaper_,
                 {[this] {
                    if (phase_ == Phase::kServing) heartbeat();
                  },
                  [this](const std::string& text) {
                    log("warn", "the GPUs: " + text);
                  }}),
      lock_(loop),
      pmi_(loop, send_),
      processes_(loop, reaper_, send_, [this] { return health_.oom_kills(); }),
      attach_(loop, processes_),
      flight_places_(processes_),
      stacks_(loop, reaper_, processes_, flight_places_, send_),
      stopper_(
          loop, processes_,
          [this](const std::string& text) { log("error", text); },
          [this] { attach_.release_wrappers(); }),
      listener_(loop),
      hello_timer_(loop),
      heartbeat_timer_(loop),
      silence_timer_(loop),
      sigterm_(loop, {SIGTERM},
               [this](const signalfd_siginfo& info) { on_sigterm(info); }),
      channel_(loop, options_.in, options_.out,
               {[this](const wire::Frame& frame) { on_frame(frame); },
                [this](ChannelEnd kind, const std::string& text) {
                  on_end(kind, text);
                }}) {
  hello_timer_.start(options_.hello_deadline, [this] {
    complain("no hello from a launcher within " +
             std::to_string(options_.hello_deadline.count() / 1000) +
             " s on stdin; `muster-agent agent` is started by `muster launch`, "
             "not by hand");
    leave(kAgentProtocol);
  });
}

void AgentSession::on_frame(const wire::Frame& frame) {
  switch (phase_) {
    case Phase::kHello:
      return handle_hello(frame);
    case Phase::kClaiming:
      if (early_.size() < kMaxEarlyFrames) early_.push_back(frame);
      return;
    case Phase::kServing:
    case Phase::kLeaving:
      return serve(frame);
  }
}

void AgentSession::on_end(ChannelEnd kind, const std::string& text) {
  if (said_bye_ || phase_ == Phase::kLeaving) return;
  if (phase_ == Phase::kHello) {
    complain(kind == ChannelEnd::kGarbage
                 ? "stdin does not speak muster's agent protocol: " + text
                 : "the launcher left before its hello: " + text);
    return leave(kAgentProtocol);
  }
  complain("the launcher is gone (" + text + "); stopping everything of " +
           hello_.launch_id);
  // The launcher may only have stood still, and reads this before the ends of
  // the ranks.
  send_(wire::FrameType::kLog, 0, 0,
        wire::to_json(wire::LogLine{
            "warn", "gave the launcher up (" + text + ") and ends its ranks",
            false, true}));
  stop_and_leave(Milliseconds(hello_.grace_ms), kAgentLauncherGone);
}

void AgentSession::on_sigterm(const signalfd_siginfo& info) {
  if (phase_ == Phase::kHello || phase_ == Phase::kClaiming) {
    return leave(kAgentDone);
  }
  // Pid 0 is a process outside of the container, 1 our own pod's init.
  const bool from_pod = info.ssi_pid <= 1;
  const std::string text =
      from_pod ? std::string("pod is being stopped (SIGTERM from ") +
                     (info.ssi_pid == 0 ? "outside the container)"
                                        : "the pod's init)")
               : "stopped by process " + std::to_string(info.ssi_pid) +
                     " of this pod (SIGTERM)";
  send_(wire::FrameType::kLog, 0, 0,
        wire::to_json(wire::LogLine{"warn", text, from_pod}));
  // The launcher says when the ranks of all pods have ended.
  if (!stopper_.stopping()) attach_.hold_wrappers();
  stop_and_leave(Milliseconds(hello_.grace_ms), kAgentDone,
                 Milliseconds(wire::delay_behind_ranks(hello_.grace_ms)));
}

void AgentSession::handle_hello(const wire::Frame& frame) {
  hello_timer_.cancel();
  auto hello = wire::from_json<wire::Hello>(frame.payload);
  if (frame.type != wire::FrameType::kHello || !hello) {
    complain("the first frame is not a valid hello" +
             (hello ? std::string() : ": " + hello.error().text()));
    return leave(kAgentProtocol);
  }
  hello_ = std::move(*hello);
  channel_.set_node(static_cast<uint16_t>(hello_.node));
  const int protocol =
      std::min(hello_.protocol_max, static_cast<int>(wire::kProtocol));
  if (protocol < std::max<int>(hello_.protocol_min, wire::kProtocolMin)) {
    return refuse("version", version_mismatch(hello_));
  }
  phase_ = Phase::kClaiming;
  lock_.acquire({hello_.job, hello_.incarnation, hello_.launch_id,
                 agent_key(hello_), Milliseconds(hello_.grace_ms)},
                [this](Result<int> evicted) { claimed(std::move(evicted)); });
}

void AgentSession::claimed(Result<int> evicted) {
  if (phase_ != Phase::kClaiming) return;
  if (!evicted) return refuse(evicted.error().code, evicted.error().text());
  const std::string key = agent_key(hello_);
  auto run_dir = RuntimeDir::create_owned(key);
  if (!run_dir) return refuse(run_dir.error().code, run_dir.error().text());
  run_dir_ = std::move(*run_dir);
  processes_.set_identity({hello_.launch_id, key, run_dir_.path()});
  processes_.set_pmi(&pmi_);
  if (auto listening = attach_.listen(run_dir_.path()); !listening) {
    return refuse(listening.error().code, listening.error().text());
  }
  phase_ = Phase::kServing;
  wire::HelloReply reply;
  reply.protocol =
      std::min(hello_.protocol_max, static_cast<int>(wire::kProtocol));
  reply.version = MUSTER_VERSION;
  reply.hostname = own_hostname();
  reply.pid = ::getpid();
  reply.realtime_ns = realtime_ns();
  reply.meeting_port = choose_meeting_port(allowed_ports(), options_.root);
  send_(wire::FrameType::kHelloReply, 0, 0, wire::to_json(reply));
  if (*evicted > 0) {
    log("warn", "stopped " + std::to_string(*evicted) +
                    " agent(s) of an earlier launcher of this job");
  }
  heartbeat();
  memory_watch_.start();
  watch_silence();
  for (const wire::Frame& frame : std::exchange(early_, {})) serve(frame);
}

void AgentSession::serve(const wire::Frame& frame) {
  using wire::FrameType;
  switch (frame.type) {
    case FrameType::kFactsRequest:
      if (phase_ == Phase::kLeaving) return;
      return handle_facts(frame.id, frame.payload);
    case FrameType::kProbe:
      if (phase_ == Phase::kLeaving) return;
      return handle_probe(frame);
    case FrameType::kStart:
      return handle_start(frame);
    case FrameType::kStop:
      return handle_stop(frame);
    case FrameType::kBye:
      return handle_bye(frame);
    case FrameType::kStdin:
      return processes_.write_stdin(frame.id, frame.payload);
    case FrameType::kStdinEof:
      return processes_.end_stdin(frame.id);
    case FrameType::kOutputCredit:
      return processes_.add_credit(frame.id, frame.flags & wire::kStreamMask,
                                   wire::parse_u32(frame.payload).value_or(0));
    case FrameType::kSignal: {
      wire::SignalRequest request;
      if (decode(frame, request)) {
        processes_.signal(frame.id, request.signal);
      }
      return;
    }
    case FrameType::kHeartbeat:
      return;  // it only shows that bytes came
    default:
      if (pmi_.frame(frame, run_dir_.path())) return;
      if (stacks_.frame(frame, options_.binary)) return;
      log("warn", "ignored a frame of type " +
                      std::to_string(static_cast<int>(frame.type)) +
                      ", which no launcher sends");
  }
}

void AgentSession::handle_facts(uint32_t id, const std::string& payload) {
  const auto request =
      wire::facts_request_from_json(payload).value_or(wire::FactsRequest{});
  run_helper(
      [this, request] {
        std::vector<ProgramCall> programs{
            {request.first.argv, request.first.env, request.first.cwd}};
        for (const wire::FactsProgram& one : request.more) {
          programs.push_back({one.argv, one.env, one.cwd});
        }
        return to_json_within(
            collect_all_facts("", health_.cgroup(), request.mpirun,
                              options_.known_files, options_.gpu_facts,
                              std::move(programs),
                              hello_.worker && request.drivers),
            wire::kMaxPayload);
      },
      kFactsDeadline,
      [this, id](std::optional<std::string> answer) {
        if (!answer) {
          log("warn",
              "collecting facts failed or took too long (a slow user "
              "database or mpirun, no room for a process?); some are missing");
          answer = to_json_within(
              collect_quick_facts(options_.root, health_.cgroup()),
              wire::kMaxPayload);
        }
        send_(wire::FrameType::kFacts, 0, id, *answer);
      });
}

void AgentSession::handle_probe(const wire::Frame& frame) {
  wire::ProbeRequest request;
  if (!decode(frame, request)) return;
  int port = 0;
  if (request.listen) {
    const auto opened = listener_.open(allowed_ports());
    if (opened) {
      port = *opened;
    } else {
      log("warn", opened.error().text());
    }
  }
  request.timeout_ms = std::clamp(request.timeout_ms, 1, kLongestProbeMs);
  const auto answer = [this, id = frame.id, port](wire::ProbeReply reply) {
    reply.listen_port = port;
    send_(wire::FrameType::kProbeReply, 0, id, wire::to_json(reply));
  };
  if (AgentReach::can_answer(request)) {
    reach_ = std::make_unique<AgentReach>(loop_, request, answer);
    return;
  }
  run_helper([request] { return wire::to_json(run_probe(request)); },
             Milliseconds(request.timeout_ms + 2000),
             [request, answer](const std::optional<std::string>& text) {
               auto reply =
                   text ? wire::from_json<wire::ProbeReply>(*text)
                        : Result<wire::ProbeReply>(failed_probe(request));
               answer(reply ? *reply : failed_probe(request));
             });
}

void AgentSession::handle_start(const wire::Frame& frame) {
  auto request = wire::from_json<wire::StartRequest>(frame.payload);
  std::string why;
  if (!request) why = request.error().text();
  if (request && request->argv.empty()) why = "the command is empty";
  if (stopper_.stopping() || phase_ == Phase::kLeaving) {
    why = "the job is being stopped";
  }
  if (!why.empty()) {
    send_(wire::FrameType::kStartFailed, 0, frame.id,
          wire::to_json(wire::StartFailed{
              {"not_started", "cannot start a process", why, {}, {}}, 126}));
    return;
  }
  listener_.close();
  processes_.start(frame.id, *request);
}

void AgentSession::handle_stop(const wire::Frame& frame) {
  wire::StopRequest request;
  if (!decode(frame, request)) return;
  const Milliseconds grace(request.now ? 0 : std::max(request.grace_ms, 0));
  const bool first = !std::exchange(stop_answer_owed_, true);
  if (request.ranks_first && !stopper_.stopping()) attach_.hold_wrappers();
  stopper_.stop(grace, Milliseconds{request.tool_delay_ms}, [this, first] {
    if (!first || phase_ == Phase::kLeaving) return;
    stop_answer_owed_ = false;
    gpu_watch_.catch_up();
    send_(wire::FrameType::kStopped, 0, 0, "");
  });
}

void AgentSession::handle_bye(const wire::Frame& frame) {
  wire::ByeMessage bye;
  if (!decode(frame, bye)) return;
  said_bye_ = true;
  stop_and_leave(Milliseconds(hello_.grace_ms),
                 bye.success ? kAgentJobSucceeded : kAgentDone);
}

void AgentSession::heartbeat() {
  const wire::HealthSample sample = health_.sample();
  memory_watch_.told(sample);
  // Only beside ranks: drivers start slowly, and before that nothing computes.
  const auto running = processes_.running_ranks();
  if (!running.empty()) gpu_watch_.start(options_.binary);
  flight_places_.notice();
  wire::PodCounters counters = health_.counters();
  gpu_watch_.tell(counters);
  processes_.tell_nccl(counters);
  std::vector<std::pair<uint32_t, pid_t>> ranks;
  for (const AgentProcess* rank : running) {
    ranks.emplace_back(rank->info().id, rank->info().pid);
  }
  health_.tell_ranks(ranks, counters);
  send_(wire::FrameType::kHeartbeat, 0, 0,
        wire::heartbeat_payload(sample, counters));
  heartbeat_timer_.start(Milliseconds(std::max(hello_.heartbeat_ms, 50)),
                         [this] { heartbeat(); });
}

void AgentSession::watch_silence() {
  const Milliseconds every(std::max(hello_.silence_ms / 8, 20));
  const Milliseconds silence = channel_.silence(every);
  if (hello_.silence_ms > 0 && silence.count() > hello_.silence_ms) {
    return on_end(ChannelEnd::kBroken,
                  "nothing heard for " + human_duration_ms(silence.count()));
  }
  silence_timer_.start(every, [this] { watch_silence(); });
}

void AgentSession::stop_and_leave(Milliseconds grace, int exit_code,
                                  Milliseconds tool_delay) {
  phase_ = Phase::kLeaving;
  silence_timer_.cancel();
  stopper_.stop(grace, tool_delay, [this, exit_code] {
    send_(wire::FrameType::kStopped, 0, 0, "");
    leave(exit_code);
  });
}

void AgentSession::leave(int exit_code) {
  phase_ = Phase::kLeaving;
  exit_code_ = exit_code;
  heartbeat_timer_.cancel();
  memory_watch_.stop();
  silence_timer_.cancel();
  channel_.finish(kFlushDeadline, [this] { loop_.stop(); });
}

void AgentSession::refuse(const std::string& code, const std::string& text) {
  complain(text);
  send_(wire::FrameType::kRefused, 0, 0,
        wire::to_json(wire::Refused{code, text}));
  leave(kAgentProtocol);
}

void AgentSession::run_helper(const AgentHelper::Work& work,
                              Milliseconds deadline, AgentHelper::Done done) {
  helpers_.push_back(nullptr);
  auto finished = [this, done = std::move(done),
                   index = helpers_.size() - 1](auto answer) {
    done(std::move(answer));
    loop_.post([this, index] { helpers_[index].reset(); });
  };
  helpers_.back() = std::make_unique<AgentHelper>(
      loop_, reaper_, work, deadline, std::move(finished));
}

void AgentSession::log(const std::string& level, const std::string& text) {
  send_(wire::FrameType::kLog, 0, 0, wire::to_json(wire::LogLine{level, text}));
}

template <class Message>
bool AgentSession::decode(const wire::Frame& frame, Message& out) {
  auto message = wire::from_json<Message>(frame.payload);
  if (message) {
    out = std::move(*message);
    return true;
  }
  log("error", "ignored a malformed frame of type " +
                   std::to_string(static_cast<int>(frame.type)) + ": " +
                   message.error().text());
  return false;
}

}  // namespace muster
