// SPDX-License-Identifier: Apache-2.0
// Which port is dialled where nothing names one.
#include "launcher/connect/port_choice.h"

#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a port that somebody named is the only one") {
  PortChoice choice(2200, false);
  for (int i = 0; i < 100; ++i) {
    CHECK(choice.next(Clock::time_point{} + i * 1s) == 2200);
  }
}

TEST_CASE("the other port is tried soon, then ever more rarely") {
  PortChoice choice(2222, true);
  std::vector<int> tried;
  for (int ms = 0; ms < 60'000; ms += 20) {
    const auto now = Clock::time_point{} + 10s + Milliseconds{ms};
    if (choice.next(now) == 22) tried.push_back(ms);
  }
  REQUIRE(tried.size() >= 2);
  CHECK(tried[0] == 200);
  CHECK(tried[1] == 600);
  CHECK(tried.size() <= 9);
}

}  // namespace
}  // namespace muster
