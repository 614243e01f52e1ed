// SPDX-License-Identifier: Apache-2.0
// Connections that have spoken and wait for a child while newer ones, too young
// to lose theirs, hold all places. Next is the newest of the address that has
// the fewest here: a flood has many old ones, a launcher has one new one. Pure,
// except for the descriptors that it owns.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "sshd-lite/door.h"

namespace muster {

class ReadyQueue {
 public:
  struct Item {
    Visitor visitor;
    Clock::time_point since;
  };

  explicit ReadyQueue(size_t capacity) : capacity_(capacity) {}

  void push(Visitor visitor, Clock::time_point now) {
    if (items_.size() >= capacity_) items_.erase(items_.begin());
    items_.push_back({std::move(visitor), now});
  }
  void drop_before(Clock::time_point limit) {
    const auto first =
        std::find_if(items_.begin(), items_.end(),
                     [limit](const Item& item) { return item.since >= limit; });
    items_.erase(items_.begin(), first);
  }
  std::optional<Visitor> pop() {
    if (items_.empty()) return std::nullopt;
    std::map<std::string, size_t> of_source;
    for (const Item& item : items_) {
      ++of_source[source_of(item.visitor.peer)];
    }
    size_t best = items_.size() - 1;
    size_t fewest = of_source[source_of(items_[best].visitor.peer)];
    for (size_t i = best; i-- > 0;) {
      const size_t count = of_source[source_of(items_[i].visitor.peer)];
      if (count >= fewest) continue;
      fewest = count;
      best = i;
    }
    Visitor out = std::move(items_[best].visitor);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(best));
    return out;
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  size_t capacity_;
  std::vector<Item> items_;  // oldest first
};

}  // namespace muster
