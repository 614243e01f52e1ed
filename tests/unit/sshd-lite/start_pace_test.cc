// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/start_pace.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a window has room for so many starts, the next for as many") {
  Clock::time_point now{std::chrono::seconds(1)};
  StartPace pace(2, Milliseconds(5));
  for (int window = 0; window < 3; ++window) {
    CHECK(pace.may_start(now));
    pace.count(now);
    CHECK(pace.may_start(now + Milliseconds(4)));
    pace.count(now + Milliseconds(4));
    CHECK_FALSE(pace.may_start(now + Milliseconds(4)));
    now += Milliseconds(5);
  }
}
