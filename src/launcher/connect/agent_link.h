// SPDX-License-Identifier: Apache-2.0
// AgentLink: one agent, from the launcher's side: hello, frames both ways,
// heartbeats. Owns the Transport. Lives on the launcher's loop.
// Questions that every agent is asked go out with the hello, in one flight.
// Refuses to pass on any frame before the agent has answered hello.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/silence.h"
#include "launcher/connect/transport.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace muster {

struct AgentLinkEvents {
  std::function<void(std::string_view step)> on_step;
  std::function<void(const wire::HelloReply&)> on_ready;
  std::function<void(const wire::Frame&)> on_frame;
  // Final. Before on_ready: this attempt failed; after: the agent is lost.
  std::function<void(Error)> on_closed;
  std::function<void()> on_drained;  // as in TransportEvents
};

// An agent answers hello once it holds the pod. Until then it waits for an
// agent of an earlier launch, kills it and gives up after twice the grace and
// 6 s (worker/session/agent_lock.cc). An earlier end here would take the claim
// back, and no later attempt would come any further.
constexpr Milliseconds hello_deadline(Milliseconds grace) {
  return Milliseconds{15'000} + 2 * grace;
}

class AgentLink {
 public:
  AgentLink(Loop& loop, std::unique_ptr<Transport> transport, wire::Hello hello,
            AgentLinkEvents events, std::vector<wire::Frame> questions = {});
  ~AgentLink();

  void start();
  // Answers for a program that does not fit into a message, as the agent does
  // for one that it cannot start.
  void send(wire::FrameType type, uint32_t id = 0,
            std::string_view payload = {}, uint8_t flags = 0);
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] size_t queued() const { return transport_->queued(); }
  [[nodiscard]] const Transport& transport() const { return *transport_; }
  // When the last byte came from the agent.
  [[nodiscard]] Clock::time_point last_heard() const {
    return silence_.last_heard();
  }

 private:
  void greet();
  void send_too_large(wire::FrameType type, uint32_t id, size_t size);
  void received(std::string_view bytes);
  void handle(const wire::Frame& frame);
  void beat();
  void close(Error error);

  Loop& loop_;
  std::unique_ptr<Transport> transport_;
  wire::Hello hello_;
  AgentLinkEvents events_;
  std::vector<wire::Frame> questions_;
  wire::FrameReader reader_;
  std::string stderr_tail_;
  bool ready_ = false;
  Silence silence_;
  Timer hello_deadline_;
  Timer heartbeat_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
