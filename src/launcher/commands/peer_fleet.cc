// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/peer_fleet.h"

#include "base/random.h"
#include "base/self_path.h"

namespace muster {

namespace {

constexpr uint32_t kHelper = 1;  // process id of the helper in each pod
constexpr size_t kMaxLine = 8 << 20;
constexpr size_t kMaxStderr = 2000;
constexpr Milliseconds kLeave{1500};

PeerAnswer no_answer(const std::string& why) {
  PeerAnswer answer;
  answer.code = "peer_lost";
  answer.text = why;
  return answer;
}

}  // namespace

PeerFleet::PeerFleet(Loop& loop, LaunchOptions options, Discovery discovery)
    : loop_(loop),
      options_(std::move(options)),
      discovery_(std::move(discovery)),
      reaper_(loop),
      timer_(loop) {}

PeerFleet::~PeerFleet() = default;

Status PeerFleet::start(std::function<void(std::vector<Laggard>)> ready) {
  auto agent = agent_path();
  if (!agent) return fail(agent.error());
  channel_ = std::make_unique<JobChannel>(loop_, reaper_, options_, discovery_,
                                          random_id(), std::move(*agent));
  FleetEvents events;
  events.on_ready = [this, ready] {
    start_helpers();
    ready({});
  };
  events.on_failed = [this, ready](std::vector<Laggard> missing, bool) {
    start_helpers();
    ready(std::move(missing));
  };
  events.on_lost = [this](uint16_t node, const Error& error) {
    lost(node, error.text());
  };
  auto nodes = channel_->nodes();
  fleet_ = std::make_unique<Fleet>(loop_, channel_->hello(), std::move(nodes),
                                   std::move(events));
  listen();
  fleet_->start(Milliseconds{options_.timeouts.connect_ms});
  return {};
}

void PeerFleet::start_helpers() {
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kTool;
  request.argv = {self_path(), "fabric", "peer"};
  request.stdin_open = true;
  for (size_t i = 0; i < fleet_->size(); ++i) {
    fleet_->send(static_cast<uint16_t>(i), wire::FrameType::kStart, kHelper,
                 wire::to_json(request));
  }
}

std::string PeerFleet::address(uint16_t node) const {
  if (options_.local) return "127.0.0.1";
  for (size_t i = 1; i < fleet_->size(); ++i) {
    const AgentLink* link = fleet_->dialer(static_cast<uint16_t>(i)).link();
    if (link == nullptr || (node != 0 && node != i)) continue;
    const std::string found = node == 0 ? link->transport().local_address()
                                        : link->transport().peer_address();
    if (!found.empty()) return found;
  }
  return host(node);
}

bool PeerFleet::only_launcher(uint16_t node) const {
  if (node != 0) return false;
  for (const uint16_t used : channel_->node_of_host()) {
    if (used == 0) return false;
  }
  return true;
}

void PeerFleet::ask(const std::map<uint16_t, PeerOrder>& orders,
                    Milliseconds deadline, std::function<void(Answers)> done) {
  done_ = std::move(done);
  answers_.clear();
  asked_.clear();
  for (const auto& [node, order] : orders) {
    asked_.insert(node);
    if (!alive(node)) {
      const auto why = gone_.find(node);
      answers_[node] = no_answer(
          why == gone_.end() ? host(node) + " is not connected" : why->second);
      continue;
    }
    fleet_->send(node, wire::FrameType::kStdin, kHelper, to_json(order) + "\n");
  }
  timer_.start(deadline, [this] {
    // The last of them ends the question, and may start another.
    std::set<uint16_t> late;
    for (const uint16_t node : asked_) {
      if (answers_.count(node) == 0) late.insert(node);
    }
    for (const uint16_t node : late) lost(node, "no answer in time");
  });
  // Not from within this call: the caller may not expect it.
  loop_.post([this] { consider_done(); });
}

// The helper is all that runs there.
void PeerFleet::listen() {
  fleet_->on(wire::FrameType::kStartFailed, [this](uint16_t node,
                                                   const wire::Frame& frame) {
    const auto refusal = wire::from_json<wire::StartFailed>(frame.payload);
    lost(node, refusal ? refusal->error.text() : "the helper does not start");
  });
  fleet_->on(wire::FrameType::kExited,
             [this](uint16_t node, const wire::Frame& /*frame*/) {
               lost(node, "the helper ended early: " + stderr_[node]);
             });
  fleet_->on(
      wire::FrameType::kOutput,
      [this](uint16_t node, const wire::Frame& frame) { output(node, frame); });
}

void PeerFleet::output(uint16_t node, const wire::Frame& frame) {
  const auto output = wire::parse_output(frame.payload);
  // Without credit, who was given up says no more.
  if (!output || gone_.count(node) != 0) return;
  const auto stream = static_cast<uint8_t>(frame.flags & wire::kStreamMask);
  fleet_->send(node, wire::FrameType::kOutputCredit, kHelper,
               wire::u32_payload(static_cast<uint32_t>(output->bytes.size())),
               stream);
  if (stream == wire::kStderr) {
    std::string& text = stderr_[node];
    if (text.size() < kMaxStderr) text += output->bytes;
    return;
  }
  std::string& text = partial_[node];
  text += output->bytes;
  size_t end = 0;
  while ((end = text.find('\n')) != std::string::npos) {
    const std::string whole = text.substr(0, end);
    text.erase(0, end + 1);
    line(node, whole);
  }
  if (text.size() <= kMaxLine) return;
  text = {};
  lost(node, "its answer does not end");
}

void PeerFleet::line(uint16_t node, const std::string& text) {
  if (asked_.count(node) == 0 || answers_.count(node) != 0) return;
  auto answer = peer_answer_from_json(text);
  answers_[node] =
      answer ? std::move(*answer) : no_answer(answer.error().text());
  consider_done();
}

void PeerFleet::lost(uint16_t node, const std::string& why) {
  gone_.emplace(node, host(node) + ": " + why);
  if (asked_.count(node) != 0 && answers_.count(node) == 0) {
    answers_[node] = no_answer(gone_[node]);
  }
  consider_done();
}

void PeerFleet::consider_done() {
  if (!done_ || answers_.size() < asked_.size()) return;
  timer_.cancel();
  asked_.clear();
  const auto done = std::move(done_);
  done_ = nullptr;
  done(std::move(answers_));
}

void PeerFleet::leave(std::function<void()> left) {
  for (size_t i = 0; i < fleet_->size(); ++i) {
    fleet_->send(static_cast<uint16_t>(i), wire::FrameType::kStdinEof, kHelper);
  }
  fleet_->send_all(wire::FrameType::kBye, wire::to_json(wire::ByeMessage{}));
  timer_.start(kLeave, std::move(left));
}

}  // namespace muster
