// SPDX-License-Identifier: Apache-2.0
// The rate of new connection children: a few in each short window. When a flood
// speaks at once, its children would otherwise all become runnable together,
// and pid 1, which must greet the launcher, is one of many for the scheduler.
// Pure.
#pragma once

#include "base/loop.h"

namespace muster {

class StartPace {
 public:
  StartPace(int at_once, Milliseconds window)
      : at_once_(at_once), window_(window) {}

  [[nodiscard]] bool may_start(Clock::time_point now) const {
    return started_ < at_once_ || now - begin_ >= window_;
  }
  void count(Clock::time_point now) {
    if (now - begin_ >= window_) {
      begin_ = now;
      started_ = 0;
    }
    ++started_;
  }

 private:
  int at_once_;
  Milliseconds window_;
  Clock::time_point begin_{};
  int started_ = 0;
};

}  // namespace muster
