// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/native_backend.h"

#include "job/cpu_list.h"
#include "launcher/model/exited_frame.h"

namespace muster {

NativeBackend::NativeBackend(Loop& loop, Fleet& fleet, NativeJob job,
                             BackendEvents events)
    : loop_(loop),
      fleet_(fleet),
      job_(std::move(job)),
      ranks_(job_.ranks),
      events_(std::move(events)),
      ended_(ranks_.size(), false),
      remaining_(ranks_.size()) {
  listen();
}

ProcessKey NativeBackend::key_of(size_t index) const {
  return {ranks_[index].node, static_cast<uint32_t>(index + 1)};
}

void NativeBackend::make_router(World world) {
  ModexEvents events;
  events.on_broken = events_.on_world_broken;
  // ranks_ is by rank.
  events.on_abort = [this](int rank, int code, std::string message) {
    events_.on_rank_aborted(key_of(static_cast<size_t>(rank)), code,
                            std::move(message));
  };
  router_ = std::make_unique<ModexRouter>(loop_, fleet_, std::move(world),
                                          job_.fleet_nodes, job_.start_deadline,
                                          std::move(events));
}

void NativeBackend::send_maps(const World& world) {
  for (int node = 0; node < world.nodes(); ++node) {
    if (world.ranks_of(node).empty()) continue;
    job_.map.node = node;
    job_.map.cpus.clear();
    for (const int rank : world.ranks_of(node)) {
      job_.map.cpus.push_back(
          cpu_list_text(ranks_[static_cast<size_t>(rank)].cpus));
    }
    fleet_.send(job_.fleet_nodes[static_cast<size_t>(node)],
                wire::FrameType::kJobMap, 0, wire::to_json(job_.map));
  }
}

void NativeBackend::start() {
  auto world = World::from(job_.map);
  if (!world) {
    events_.on_failed(world.error());
    return;
  }
  send_maps(*world);
  make_router(std::move(*world));
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const NativeRank& rank = ranks_[i];
    const ProcessKey key = key_of(i);
    RankRecord record;
    record.rank = rank.rank;
    record.node = rank.node;
    record.host = fleet_.dialer(rank.node).host();
    record.key = key;
    record.world_size = static_cast<int>(ranks_.size());
    events_.on_rank_starting(std::move(record));
    wire::StartRequest request;
    request.kind = wire::ProcessKind::kRank;
    request.argv = rank.argv;
    request.env = rank.env;
    request.unset = rank.unset;
    request.cwd = rank.cwd;
    request.cwd_if_there = job_.map.cwd_if_there;
    request.rank = rank.rank;
    request.cpus = rank.cpus;
    request.stdin_open =
        job_.stdin_mode == StdinMode::kAll ||
        (job_.stdin_mode == StdinMode::kRankZero && rank.rank == 0);
    fleet_.send(rank.node, wire::FrameType::kStart, key.id,
                wire::to_json(request));
    if (request.stdin_open) events_.on_wants_stdin(key);
  }
}

// An agent speaks for its own ranks only.
void NativeBackend::listen() {
  using Handle = void (NativeBackend::*)(size_t, const wire::Frame&);
  const auto on = [this](wire::FrameType type, Handle handle) {
    fleet_.on(type, [this, handle](uint16_t node, const wire::Frame& frame) {
      const size_t index = size_t{frame.id} - 1;  // id 0: beyond all of them
      if (index >= ranks_.size() || ranks_[index].node != node) return;
      (this->*handle)(index, frame);
    });
  };
  on(wire::FrameType::kStarted, &NativeBackend::rank_started);
  on(wire::FrameType::kStartFailed, &NativeBackend::rank_refused);
  on(wire::FrameType::kExited, &NativeBackend::rank_exited);
}

void NativeBackend::rank_started(size_t index, const wire::Frame& frame) {
  const auto started = wire::from_json<wire::Started>(frame.payload);
  if (started) events_.on_rank_running(key_of(index), started->pid);
}

void NativeBackend::rank_refused(size_t index, const wire::Frame& frame) {
  if (ended_[index]) return;
  ended_[index] = true;
  const auto refusal = wire::from_json<wire::StartFailed>(frame.payload);
  events_.on_rank_refused(key_of(index),
                          refusal ? *refusal : wire::StartFailed{});
  one_ended();
}

void NativeBackend::rank_exited(size_t index, const wire::Frame& frame) {
  if (ended_[index]) return;
  const wire::Exited exit = exited_of(frame);
  ended_[index] = !exit.draining;
  if (router_) router_->announce_end(ranks_[index].rank, exit);
  // The record comes first: the router may stop the job because of it.
  events_.on_rank_exited(key_of(index), exit);
  if (router_) router_->rank_ended(ranks_[index].rank, exit);
  if (!exit.draining) one_ended();
}

void NativeBackend::node_lost(uint16_t node) {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].node != node || ended_[i]) continue;
    ended_[i] = true;
    one_ended();
  }
}

void NativeBackend::one_ended() {
  if (--remaining_ == 0) events_.on_finished({});
}

}  // namespace muster
