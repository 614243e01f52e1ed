// SPDX-License-Identifier: Apache-2.0
// Phase "connect": all agents of the job, or who is missing and why.
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/launch.h"

namespace muster {

void Launch::connect() {
  clock_.enter("connect");
  FleetEvents events;
  // Its facts are gathered while others are still waited for.
  events.on_node_ready = [this](uint16_t node) {
    early_facts_.erase(node);
    fleet_->send(node, wire::FrameType::kFactsRequest, kFactsQuestion,
                 discovery_.mpirun);
  };
  events.on_ready = [this] {
    ready_ns_ = realtime_ns();
    inspect();
  };
  events.on_failed = [this](std::vector<Laggard> laggards, bool permanent) {
    laggards_ = std::move(laggards);
    fail(Error{permanent ? laggards_[0].error.code : "workers_not_ready",
               std::to_string(laggards_.size()) + " of " +
                   std::to_string(discovery_.hosts.size()) +
                   " workers are not ready",
               laggards_text(laggards_, 8),
               {},
               likely_cause(laggards_[0].error)});
  };
  events.on_frame = [this](uint16_t node, wire::Frame frame) {
    on_frame(node, std::move(frame));
  };
  events.on_lost = [this](uint16_t node, Error error) {
    on_lost(node, std::move(error));
  };
  channel_ = std::make_unique<JobChannel>(loop_, reaper_, options_, discovery_,
                                          launch_id_, agent_);
  auto nodes = channel_->nodes(
      [this](uint16_t node) { return fleet_->dialer(node).attempts(); });
  node_of_host_ = channel_->node_of_host();
  fleet_ = std::make_unique<Fleet>(loop_, channel_->hello(), std::move(nodes),
                                   std::move(events));
  survey_ = std::make_unique<Survey>(loop_, *fleet_);
  log::info("connecting to {} from {}",
            discovery_.hosts.size() == 1
                ? "1 host"
                : std::to_string(discovery_.hosts.size()) + " hosts",
            discovery_.hosts_source);
  fleet_->start(Milliseconds{options_.timeouts.connect_ms});
  write_status();
}

}  // namespace muster
