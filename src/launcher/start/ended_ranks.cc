// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/ended_ranks.h"

namespace muster {

namespace {

constexpr Milliseconds kTogether{50};
// 40 bytes each; a frame holds 1 MiB.
constexpr size_t kMostInFrame = 8192;

}  // namespace

void EndedRanks::add(wire::RankEnd end, bool at_once) {
  const auto rank = static_cast<size_t>(end.rank);
  if (told_[rank]) return;
  told_[rank] = true;
  news_.ranks.push_back(end);
  if (at_once || news_.ranks.size() >= kMostInFrame) return tell();
  if (news_.ranks.size() == 1) later_.start(kTogether, [this] { tell(); });
}

void EndedRanks::tell() {
  later_.cancel();
  if (news_.ranks.empty()) return;
  const std::string payload = wire::to_json(news_);
  news_.ranks.clear();
  for (const int node : listeners_()) {
    send_(node, wire::FrameType::kRanksEnded, 0, payload);
  }
}

}  // namespace muster
