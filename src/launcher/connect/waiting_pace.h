// SPDX-License-Identifier: Apache-2.0
// WaitingPace: when to repeat the line about missing workers: at 3, 10 and 30
// s, at 1 min, 2, 4, 8, …, and in between when it has changed, at most every 10
// s. Pure.
#pragma once

#include <string>

#include "base/loop.h"

namespace muster {

class WaitingPace {
 public:
  // Whether to say `line` now, after having waited so long; if so it counts as
  // said. `line` is without the time.
  bool due(Milliseconds waited, const std::string& line);
  void start_again() { *this = {}; }

 private:
  std::string said_;
  Milliseconds said_at_{0};
  Milliseconds next_{3'000};
};

}  // namespace muster
