// SPDX-License-Identifier: Apache-2.0
// The phase of a launch and the time of each, for the report. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/loop.h"

namespace muster {

inline Milliseconds between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<Milliseconds>(to - from);
}

inline Milliseconds since(Clock::time_point from) {
  return between(from, Clock::now());
}

// By the clock that all processes of this machine share.
inline int64_t steady_ms() { return since(Clock::time_point{}).count(); }

struct PhaseTime {
  std::string name;
  Milliseconds took{0};
};

class PhaseClock {
 public:
  void enter(const std::string& name) {
    leave();
    current_ = name;
  }
  void leave() {
    const auto now = Clock::now();
    if (!current_.empty()) {
      done_.push_back({current_, between(since_, now)});
      last_ = current_;
      current_.clear();
    }
    since_ = now;
  }
  // The current phase, or the last one.
  [[nodiscard]] const std::string& current() const {
    return current_.empty() ? last_ : current_;
  }
  // Time in the current phase.
  [[nodiscard]] Milliseconds elapsed() const { return since(since_); }
  [[nodiscard]] const std::vector<PhaseTime>& phases() const { return done_; }

 private:
  std::string current_ = "discover";
  std::string last_;
  Clock::time_point since_ = Clock::now();
  std::vector<PhaseTime> done_;
};

}  // namespace muster
