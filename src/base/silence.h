// SPDX-License-Identifier: Apache-2.0
// The time for which a peer was silent while we listened. A process that was
// frozen, or that a full machine did not run, is late and finds bytes that it
// has not read, or that no thread could pass to it: that time does not count
// against the peer. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/loop.h"

namespace muster {

class Silence {
 public:
  explicit Silence(Clock::time_point now) : heard_(now), from_(now) {}

  void heard(Clock::time_point now) {
    heard_ = from_ = now;
    counted_ = Milliseconds{0};
  }
  // Call it every `every`. A late call counts as twice that, so that a process
  // that is always late still comes to an end.
  Milliseconds look(Clock::time_point now, Milliseconds every) {
    const auto passed = std::chrono::duration_cast<Milliseconds>(now - from_);
    counted_ += std::min(passed, 2 * every);
    from_ = now;
    return counted_;
  }
  [[nodiscard]] Clock::time_point last_heard() const { return heard_; }

 private:
  Clock::time_point heard_;
  Clock::time_point from_;  // of the uncounted part
  Milliseconds counted_{0};
};

}  // namespace muster
