// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/fence_delivery.h"

#include <utility>

#include "launcher/connect/transport.h"
#include "wire/modex_messages.h"

namespace muster {

void FenceDelivery::add(FenceOutcome outcome) {
  const auto data =
      std::make_shared<const std::string>(std::move(outcome.data));
  const std::string head = wire::to_json(wire::ModexReply{{}, data->size()});
  for (const auto& [node, id] : outcome.waiting) {
    send_(node, wire::FrameType::kModexReply, id, head);
    if (!data->empty()) parts_[node].push_back({id, data, 0});
  }
  // Piece by piece over all nodes, so that no node waits for the whole of
  // another one's copy.
  for (bool given = true; given;) {
    given = false;
    for (const auto& [node, id] : outcome.waiting) {
      given = give_piece(node) || given;
    }
  }
}

void FenceDelivery::go_on(int node) {
  while (give_piece(node)) {
  }
}

bool FenceDelivery::give_piece(int node) {
  const auto found = parts_.find(node);
  if (found == parts_.end() || queued_(node) >= kQueueMark) return false;
  Part& part = found->second.front();
  const auto piece =
      std::string_view(*part.data).substr(part.given, wire::kModexPiece);
  part.given += piece.size();
  const uint32_t id = part.id;
  const auto data = part.data;  // `piece` lies in it
  if (part.given == data->size()) {
    found->second.pop_front();
    if (found->second.empty()) parts_.erase(found);
  }
  send_(node, wire::FrameType::kModexData, id, piece);
  return true;
}

}  // namespace muster
