// SPDX-License-Identifier: Apache-2.0
#include "launcher/native_backend.h"

namespace muster {

NativeBackend::NativeBackend(Fleet& fleet, std::vector<NativeRank> ranks,
                             StdinMode stdin, BackendEvents events)
    : fleet_(fleet),
      ranks_(std::move(ranks)),
      stdin_(stdin),
      events_(std::move(events)),
      ended_(ranks_.size(), false),
      remaining_(ranks_.size()) {}

void NativeBackend::start() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const NativeRank& rank = ranks_[i];
    const ProcessKey key{rank.node, static_cast<uint32_t>(i + 1)};
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
    request.rank = rank.rank;
    request.cpus = rank.cpus;
    request.stdin_open =
        stdin_ == StdinMode::kAll ||
        (stdin_ == StdinMode::kRankZero && rank.rank == 0);
    fleet_.send(rank.node, wire::FrameType::kStart, key.id,
                wire::to_json(request));
    if (request.stdin_open) events_.on_wants_stdin(key);
  }
}

bool NativeBackend::frame(uint16_t node, const wire::Frame& frame) {
  const ProcessKey key{node, frame.id};
  const size_t index = frame.id - 1;
  if (frame.id == 0 || index >= ranks_.size()) return false;
  switch (frame.type) {
    case wire::FrameType::kStarted: {
      const auto started = wire::from_json<wire::Started>(frame.payload);
      if (started) events_.on_rank_running(key, started->pid);
      return true;
    }
    case wire::FrameType::kStartFailed: {
      const auto refusal = wire::from_json<wire::StartFailed>(frame.payload);
      if (ended_[index]) return true;
      ended_[index] = true;
      events_.on_rank_refused(key,
                              refusal ? *refusal : wire::StartFailed{});
      one_ended();
      return true;
    }
    case wire::FrameType::kExited: {
      const auto exited = wire::from_json<wire::Exited>(frame.payload);
      if (ended_[index]) return true;
      ended_[index] = true;
      events_.on_rank_exited(key, exited ? *exited : wire::Exited{});
      one_ended();
      return true;
    }
    default:
      return false;
  }
}

void NativeBackend::node_lost(uint16_t node) {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].node != node || ended_[i]) continue;
    ended_[i] = true;
    one_ended();
  }
}

void NativeBackend::one_ended() {
  if (--remaining_ == 0) events_.on_finished(0);
}

}  // namespace muster
