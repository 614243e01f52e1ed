// SPDX-License-Identifier: Apache-2.0
#include "base/silence.h"

#include <catch2/catch.hpp>

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("silence is counted while looks come in time") {
  Clock::time_point now{};
  Silence silence(now);
  for (int i = 1; i <= 5; ++i) {
    now += seconds(2);
    CHECK(silence.look(now, seconds(2)) == seconds(2 * i));
  }
  silence.heard(now + milliseconds(500));
  CHECK(silence.last_heard() == now + milliseconds(500));
  CHECK(silence.look(now + seconds(2), seconds(2)) == milliseconds(1500));
}

TEST_CASE("time in which we did not look is not the peer's") {
  Clock::time_point now{};
  Silence silence(now);
  now += seconds(60);  // frozen
  CHECK(silence.look(now, seconds(2)) == seconds(4));
  now += seconds(2);
  CHECK(silence.look(now, seconds(2)) == seconds(6));
}

TEST_CASE("who is always late still comes to an end") {
  Clock::time_point now{};
  Silence silence(now);
  int looks = 0;
  do {
    now += seconds(30);
    ++looks;
  } while (silence.look(now, seconds(2)) <= seconds(12));
  CHECK(looks == 4);
}

}  // namespace
}  // namespace muster
