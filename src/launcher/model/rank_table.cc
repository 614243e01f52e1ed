// SPDX-License-Identifier: Apache-2.0
#include "launcher/model/rank_table.h"

#include <algorithm>

namespace muster {

const char* to_text(RankState state) {
  switch (state) {
    case RankState::kStarting:
      return "starting";
    case RankState::kRunning:
      return "running";
    case RankState::kExited:
      return "exited";
    case RankState::kNotStarted:
      return "not started";
    case RankState::kLost:
      return "lost";
  }
  return "?";
}

RankRecord& RankTable::add(RankRecord record) {
  const auto added = records_.insert(records_.end(), std::move(record));
  index_[added->key] = added;
  return *added;
}

RankRecord* RankTable::find(ProcessKey key) {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &*found->second;
}

void RankTable::forget(ProcessKey key) {
  const auto found = index_.extract(key);
  if (found.empty()) return;
  records_.erase(found.mapped());
  ++forgotten_;
}

size_t RankTable::count(RankState state) const {
  return static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(),
                    [state](const RankRecord& r) { return r.state == state; }));
}

void RankTable::ended(RankRecord& record, RankState state, int64_t now_ns) {
  record.state = state;
  record.ended_ns = now_ns;
}

void RankTable::lose_node(uint16_t node, int64_t now_ns) {
  for (RankRecord& record : records_) {
    if (record.node == node && (record.state == RankState::kRunning ||
                                record.state == RankState::kStarting)) {
      ended(record, RankState::kLost, now_ns);
    }
  }
}

bool RankTable::all_ended() const {
  return std::none_of(records_.begin(), records_.end(),
                      [](const RankRecord& r) {
                        return r.state == RankState::kRunning ||
                               r.state == RankState::kStarting;
                      });
}

}  // namespace muster
