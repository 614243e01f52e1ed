// SPDX-License-Identifier: Apache-2.0
// Runs a loop for a test, never for ever.
#pragma once

#include <functional>
#include <memory>

#include "base/loop.h"

namespace muster::test {

// Runs `loop` until `done` says so; false if it did not within `limit`.
inline bool run_until(Loop& loop, const std::function<bool()>& done,
                      Milliseconds limit = Milliseconds{60'000}) {
  const auto end = Clock::now() + limit;
  Timer poll(loop);
  bool in_time = false;
  std::function<void()> look = [&] {
    in_time = done();
    if (in_time || Clock::now() > end) {
      loop.stop();
    } else {
      poll.start(Milliseconds{1}, look);
    }
  };
  poll.start(Milliseconds{0}, look);
  loop.run();
  return in_time;
}

// Lets `loop` do what it has to for `time`.
inline void run_for(Loop& loop, Milliseconds time) {
  const auto end = Clock::now() + time;
  run_until(loop, [end] { return Clock::now() >= end; });
}

}  // namespace muster::test
