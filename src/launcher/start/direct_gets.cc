// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/direct_gets.h"

#include <algorithm>

#include "launcher/connect/transport.h"
#include "wire/modex_messages.h"

namespace muster {

void DirectGets::ask(Get get) {
  const uint32_t id = wire::kLauncherModexIds | next_++;
  const int asker = get.asker;
  gets_[id] = std::move(get);
  held_[asker].push_back(id);
  go_on(asker);
}

void DirectGets::go_on(int node) {
  const auto held = held_.find(node);
  if (held == held_.end()) return;
  while (!held->second.empty() && queued_(node) < kQueueMark) {
    const auto get = gets_.find(held->second.front());
    held->second.pop_front();
    if (get == gets_.end()) continue;
    get->second.sent = true;
    send_(get->second.owner, wire::FrameType::kModexGet, get->first,
          wire::to_json(wire::ModexGet{get->second.rank}));
  }
  if (held->second.empty()) held_.erase(held);
}

void DirectGets::replied(const wire::Frame& frame) {
  const auto get = gets_.find(frame.id);
  if (get == gets_.end() || !get->second.sent) return;
  send_(get->second.asker, wire::FrameType::kModexReply, get->second.id,
        frame.payload);
  const auto reply = wire::modex_from_json<wire::ModexReply>(frame.payload);
  if (!reply || !reply->error.empty() || reply->size == 0) {
    gets_.erase(get);
  } else {
    get->second.remaining = reply->size;
  }
}

void DirectGets::data(const wire::Frame& frame) {
  const auto get = gets_.find(frame.id);
  if (get == gets_.end() || get->second.remaining == 0) return;
  send_(get->second.asker, wire::FrameType::kModexData, get->second.id,
        frame.payload);
  const auto passed =
      std::min<uint64_t>(get->second.remaining, frame.payload.size());
  if ((get->second.remaining -= passed) == 0) gets_.erase(get);
}

std::vector<DirectGets::Get> DirectGets::expire(Clock::time_point limit) {
  std::vector<Get> out;
  for (auto get = gets_.begin(); get != gets_.end();) {
    if (get->second.since >= limit) {
      ++get;
      continue;
    }
    out.push_back(get->second);
    get = gets_.erase(get);
  }
  return out;
}

}  // namespace muster
