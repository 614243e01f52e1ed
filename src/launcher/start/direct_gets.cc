// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/direct_gets.h"

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

DirectGets::Get* DirectGets::asked(int node, uint32_t id) {
  const auto get = gets_.find(id);
  const bool known =
      get != gets_.end() && get->second.sent && get->second.owner == node;
  return known ? &get->second : nullptr;
}

void DirectGets::replied(int node, const wire::Frame& frame) {
  Get* const get = asked(node, frame.id);
  if (get == nullptr || get->remaining > 0) return;
  send_(get->asker, wire::FrameType::kModexReply, get->id, frame.payload);
  const auto reply = wire::modex_from_json<wire::ModexReply>(frame.payload);
  if (!reply || !reply->error.empty() || reply->size == 0) {
    gets_.erase(frame.id);
  } else {
    get->remaining = reply->size;
  }
}

void DirectGets::data(int node, const wire::Frame& frame) {
  Get* const get = asked(node, frame.id);
  if (get == nullptr || get->remaining == 0) return;
  const auto piece = std::string_view(frame.payload).substr(0, get->remaining);
  send_(get->asker, wire::FrameType::kModexData, get->id, piece);
  if ((get->remaining -= piece.size()) == 0) gets_.erase(frame.id);
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
