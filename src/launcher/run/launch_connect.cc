// SPDX-License-Identifier: Apache-2.0
// Phase "connect": all agents of the job, or the missing ones and why.
#include "base/log.h"
#include "job/kubectl.h"
#include "launcher/plan/facts_question.h"
#include "launcher/run/launch.h"

namespace muster {

// The agent gathers its facts and opens its port for the proof while the
// launcher waits for others.
std::vector<wire::Frame> Launch::first_questions() const {
  std::vector<wire::Frame> out(1);
  out[0].type = wire::FrameType::kFactsRequest;
  out[0].id = kFactsQuestion;
  out[0].payload = wire::to_json(facts_request(options_, discovery_));
  if (!proves()) return out;
  wire::ProbeRequest request;
  request.listen = true;
  wire::Frame& listen = out.emplace_back();
  listen.type = wire::FrameType::kProbe;
  listen.id = kListenQuestion;
  listen.payload = wire::to_json(request);
  return out;
}

void Launch::connect() {
  clock_.enter("connect");
  FleetEvents events;
  // Forgets the answers of the previous agent.
  events.on_node_ready = [this](uint16_t node, const wire::HelloReply& reply) {
    PodRecord& pod = pods_[node];
    pod.meeting_port = reply.meeting_port;
    pod.leaves_first = pod.leaves = false;
    ++pod.greetings;
    known_facts_.erase(node);
    known_ports_.erase(node);
  };
  events.on_ready = [this] {
    ready_at_ = Clock::now();
    inspect();
  };
  events.on_failed = [this](std::vector<Laggard> laggards, bool permanent) {
    laggards_ = std::move(laggards);
    fail(Error{
        permanent ? laggards_[0].error.code : "workers_not_ready",
        fleet_->missing_text(laggards_) + " not ready in time",
        laggards_text(laggards_, 8),
        {},
        likely_cause(laggards_[0].error, laggards_[0].host, own_namespace())});
  };
  events.on_leaving = [this](uint16_t node) { on_leaving(node); };
  events.on_gave_up = [this](uint16_t node) {
    if (run_) run_->worker_gave_up(node);
  };
  events.on_lost = [this](uint16_t node, Error error) {
    on_lost(node, std::move(error));
  };
  channel_ = std::make_unique<JobChannel>(loop_, reaper_, options_, discovery_,
                                          launch_id_, agent_);
  auto nodes = channel_->nodes();
  node_of_host_ = channel_->node_of_host();
  fleet_ = std::make_unique<Fleet>(loop_, channel_->hello(), std::move(nodes),
                                   std::move(events), first_questions());
  survey_ = std::make_unique<Survey>(loop_, *fleet_);
  fleet_->on(wire::FrameType::kHeartbeat,
             [this](uint16_t node, const wire::Frame& frame) {
               heartbeat(node, frame);
             });
  for (const auto type :
       {wire::FrameType::kFacts, wire::FrameType::kProbeReply}) {
    fleet_->on(type, [this](uint16_t node, const wire::Frame& frame) {
      answered(node, frame);
    });
  }
  log::info("connecting to {} from {}",
            discovery_.hosts.size() == 1
                ? "1 host"
                : std::to_string(discovery_.hosts.size()) + " hosts",
            discovery_.hosts_source);
  fleet_->start(Milliseconds{options_.timeouts.connect_ms});
  write_status();
}

}  // namespace muster
