// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/agent_link.h"

#include "base/log.h"
#include "base/printable.h"
#include "base/text.h"
#include "job/kubectl.h"

namespace muster {

namespace {

// The printable part of bytes from an unknown program.
std::string shown(std::string_view bytes) {
  constexpr size_t kShown = 120;
  return printable(one_line(trim(bytes), kShown), kShown);
}

}  // namespace

AgentLink::AgentLink(Loop& loop, std::unique_ptr<Transport> transport,
                     wire::Hello hello, AgentLinkEvents events,
                     std::vector<wire::Frame> questions)
    : loop_(loop),
      transport_(std::move(transport)),
      hello_(std::move(hello)),
      events_(std::move(events)),
      questions_(std::move(questions)),
      silence_(Clock::now()),
      hello_deadline_(loop),
      heartbeat_(loop) {}

AgentLink::~AgentLink() { *alive_ = false; }

void AgentLink::start() {
  TransportEvents events;
  events.on_step = [this](std::string_view step) { events_.on_step(step); };
  events.on_open = [this] {
    events_.on_step("agent");
    silence_.heard(Clock::now());
    greet();
    hello_deadline_.start(
        hello_deadline(Milliseconds{hello_.grace_ms}), [this] {
          close(Error{
              "agent_silent",
              "the agent did not answer",
              stderr_tail_.empty() ? "no answer to hello" : shown(stderr_tail_),
              hello_.host,
              {}});
        });
  };
  events.on_data = [this](std::string_view data) { received(data); };
  events.on_stderr = [this](std::string_view data) {
    stderr_tail_.append(data);
    if (stderr_tail_.size() > 2048) {
      stderr_tail_.erase(0, stderr_tail_.size() - 2048);
    }
    log::debug("{}: agent: {}", hello_.host, trim(data));
  };
  events.on_drained = [this] {
    if (ready_ && events_.on_drained) events_.on_drained();
  };
  events.on_closed = [this](Error error) {
    if (!ready_ && !trim(stderr_tail_).empty()) {
      error.why = shown(stderr_tail_);
    }
    close(std::move(error));
  };
  transport_->start(std::move(events));
}

void AgentLink::greet() {
  const auto node = static_cast<uint16_t>(hello_.node);
  std::string bytes;
  wire::encode(wire::FrameType::kHello, 0, node, 0, wire::to_json(hello_),
               bytes);
  for (const wire::Frame& question : questions_) {
    wire::encode(question.type, question.flags, node, question.id,
                 question.payload, bytes);
  }
  transport_->send(bytes);
}

void AgentLink::send(wire::FrameType type, uint32_t id,
                     std::string_view payload, uint8_t flags) {
  if (payload.size() > wire::kMaxPayload) {
    return send_too_large(type, id, payload.size());
  }
  std::string bytes;
  wire::encode(type, flags, static_cast<uint16_t>(hello_.node), id, payload,
               bytes);
  transport_->send(bytes);
}

// Reports the error in a later turn, since the caller has not finished sending.
// The agent would take the message for garbage and leave.
void AgentLink::send_too_large(wire::FrameType type, uint32_t id, size_t size) {
  Error error{"request_too_large",
              "more than a worker takes in one message",
              human_bytes(size) + ", at most " + human_bytes(wire::kMaxPayload),
              hello_.host,
              {}};
  if (type == wire::FrameType::kStart) {
    error.what = "the program's arguments and environment are too large";
    error.hint =
        "leave variables out, or pass long lists in a file (the kernel has a "
        "limit, too: getconf ARG_MAX)";
  }
  loop_.post([this, alive = alive_, type, id, error = std::move(error)] {
    if (!*alive || !events_.on_closed) return;
    if (type != wire::FrameType::kStart) return close(error);
    constexpr int kCannotExecute = 126;  // a shell's code for E2BIG
    events_.on_frame({wire::FrameType::kStartFailed, 0,
                      static_cast<uint16_t>(hello_.node), id,
                      wire::to_json(wire::StartFailed{error, kCannotExecute})});
  });
}

void AgentLink::received(std::string_view bytes) {
  silence_.heard(Clock::now());
  const auto alive = alive_;
  while (*alive && events_.on_closed) {  // ignored after close()
    auto frame = reader_.next(bytes);
    if (!frame) {
      Error error = frame.error();
      error.where = hello_.host;
      error.why = "it said: " + shown(reader_.refused());
      close(std::move(error));
      return;
    }
    if (!frame->has_value()) return;
    handle(**frame);
  }
}

void AgentLink::handle(const wire::Frame& frame) {
  if (ready_) {
    if (frame.type == wire::FrameType::kHelloReply) return;
    events_.on_frame(frame);
    return;
  }
  if (frame.type == wire::FrameType::kRefused) {
    const auto refused = wire::from_json<wire::Refused>(frame.payload);
    // The agent's reason says what to do. A pod without a writable place does
    // not get one later.
    const std::string code = refused ? refused->code : std::string();
    close(Error{code == "version"           ? "version_mismatch"
                : code == "no_writable_dir" ? "no_writable_dir"
                                            : "agent_refused",
                "the agent refused this launcher",
                refused ? refused->text : "no reason given",
                hello_.host,
                {}});
    return;
  }
  const auto reply = wire::from_json<wire::HelloReply>(frame.payload);
  if (frame.type != wire::FrameType::kHelloReply || !reply) {
    close(Error{"protocol",
                "the agent did not answer hello",
                "unexpected frame",
                hello_.host,
                {}});
    return;
  }
  ready_ = true;
  hello_deadline_.cancel();
  heartbeat_.start(Milliseconds{hello_.heartbeat_ms}, [this] { beat(); });
  events_.on_ready(*reply);
}

void AgentLink::beat() {
  send(wire::FrameType::kHeartbeat);
  const Milliseconds every{hello_.heartbeat_ms};
  const auto silence = silence_.look(Clock::now(), every);
  if (silence.count() > hello_.silence_ms) {
    transport_->agent_is_silent();
    close(Error{"worker_silent", "worker lost",
                "nothing heard for " + human_duration_ms(silence.count()),
                hello_.host,
                "the pod is frozen, its node is gone, or the network "
                "between is cut: `kubectl get nodes` tells, and `" +
                    node_of_pod(hello_.host, own_namespace()) + "`"});
    return;
  }
  heartbeat_.start(every, [this] { beat(); });
}

void AgentLink::close(Error error) {
  hello_deadline_.cancel();
  heartbeat_.cancel();
  const auto closed = std::move(events_.on_closed);
  events_.on_closed = nullptr;
  if (closed) closed(std::move(error));
}

}  // namespace muster
