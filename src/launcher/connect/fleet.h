// SPDX-License-Identifier: Apache-2.0
// Fleet: the agents of one launch. Node 0 is the launcher's own pod, 1..N the
// workers in hostfile order. Dials all in parallel, says which are missing, why
// and what shows the cause (WaitingPace), names once a host that may be
// misspelt, and gives up at the deadline with every laggard named. All or
// nothing: it uses no worker before all are ready. Logs messages of agents.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "launcher/connect/waiting_pace.h"
#include "launcher/connect/worker_dialer.h"

namespace muster {

struct FleetNode {
  std::string host;  // as in messages
  std::string job;   // Hello::job; empty: the one of all nodes
  WorkerDialer::MakeTransport make_transport;
  // Its address came from DNS, which may lead to another pod of the job.
  bool looked_up = false;
  bool worker = true;  // false: the launcher's pod, which runs no ranks
};

struct Laggard {
  uint16_t node = 0;
  std::string host;
  std::string step;
  Error error;
};

struct FleetEvents {
  // One worker is ready; again if the fleet dials it again before all are.
  std::function<void(uint16_t node, const wire::HelloReply&)> on_node_ready;
  std::function<void()> on_ready;  // all workers are ready
  // Connecting has failed; `permanent` if waiting would not have helped.
  std::function<void(std::vector<Laggard>, bool permanent)> on_failed;
  std::function<void(uint16_t node, Error)> on_lost;  // any time after on_ready
  std::function<void(uint16_t node)> on_leaving;      // the pod got a SIGTERM
  // The launcher stood still, so its agent took it for lost and ends its ranks.
  std::function<void(uint16_t node)> on_gave_up;
};

class Fleet {
 public:
  // `questions` go to each agent with its hello, so that it answers while
  // others are still waited for.
  Fleet(Loop& loop, wire::Hello hello, std::vector<FleetNode> nodes,
        FleetEvents events, const std::vector<wire::Frame>& questions = {});

  void start(Milliseconds deadline);
  // A worker without ranks was lost: on_ready comes again.
  void reconnect(Milliseconds deadline);
  // `handle` gets every frame of `type` from any node, before or after all are
  // ready. It must ignore frames for others, which also get it. It stays for as
  // long as the fleet is used.
  using FrameHandler = std::function<void(uint16_t node, const wire::Frame&)>;
  void on(wire::FrameType type, FrameHandler handle) {
    handlers_.emplace(type, std::move(handle));
  }
  // Stops dialling; links stay.
  void stop_connecting();
  void send(uint16_t node, wire::FrameType type, uint32_t id = 0,
            std::string_view payload = {}, uint8_t flags = 0);
  // Bytes for a node that have not left; 0 if it is lost.
  [[nodiscard]] size_t queued(uint16_t node) const;
  // Called when a node's queue is below kQueueMark again. One client only.
  void watch_drained(std::function<void(uint16_t node)> drained) {
    drained_ = std::move(drained);
  }
  void send_all(wire::FrameType type, std::string_view payload = {});

  [[nodiscard]] size_t size() const { return dialers_.size(); }
  [[nodiscard]] const WorkerDialer& dialer(uint16_t node) const {
    return *dialers_[node];
  }
  [[nodiscard]] bool alive(uint16_t node) const {
    return dialers_[node]->ready();
  }
  [[nodiscard]] size_t ready_count() const;
  // "2 of 4 workers", of laggards() in its order.
  [[nodiscard]] std::string missing_text(
      const std::vector<Laggard>& missing) const;
  [[nodiscard]] std::vector<Laggard> laggards() const;

 private:
  void wait_for_all(Milliseconds deadline);
  void greeted(uint16_t node, const wire::HelloReply& reply);
  void frame(uint16_t node, const wire::Frame& frame);
  void log_line(uint16_t node, const wire::Frame& frame);
  void became_ready();
  void report_progress();
  void suspect_a_name(Milliseconds waited, const std::vector<Laggard>& missing);
  void failed(bool permanent);

  FleetEvents events_;
  std::multimap<wire::FrameType, FrameHandler> handlers_;
  std::function<void(uint16_t node)> drained_;
  std::vector<std::unique_ptr<WorkerDialer>> dialers_;
  std::vector<bool> looked_up_;
  std::vector<std::string> hostnames_;  // as in each agent's hello
  size_t workers_ = 0;
  bool own_pod_apart_ = false;  // node 0 is not a worker
  bool connecting_ = false;
  bool suspected_ = false;  // a name, and reported
  Clock::time_point started_;
  Timer deadline_;
  WaitingPace pace_;
  Timer progress_;
};

// "w-4, w-9: its name is not in DNS; w-5: …", `limit` hosts for each reason.
std::string laggards_text(const std::vector<Laggard>& laggards, size_t limit);

// ". Likely cause: …; of w-9: …": one cause for each reason, from its first
// host; empty: unknown.
std::string causes_text(const std::vector<Laggard>& laggards);

// Those of `names` that are looked up in DNS and, alone of all, not found:
// "w-9". Empty: none, many, or some are not known yet.
std::string lone_missing_names(const std::vector<Laggard>& laggards,
                               size_t names);

}  // namespace muster
