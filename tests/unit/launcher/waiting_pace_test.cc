// SPDX-License-Identifier: Apache-2.0
// How often a launch says whom it waits for.
#include "launcher/connect/waiting_pace.h"

#include "catch.h"

namespace muster {
namespace {

using Seconds = std::vector<int>;

// At which seconds a line is said that is looked at every second.
Seconds said(int until, const std::function<std::string(int)>& line) {
  WaitingPace pace;
  Seconds out;
  for (int s = 1; s <= until; ++s) {
    if (pace.due(Milliseconds{s * 1000}, line(s))) out.push_back(s);
  }
  return out;
}

TEST_CASE("a line that stays the same is said at growing intervals") {
  CHECK(said(300, [](int) { return "w-0"; }) ==
        Seconds{3, 10, 30, 60, 120, 240});
}

TEST_CASE("a line that changes is said then, every 10 s at most") {
  CHECK(said(40, [](int s) { return s < 17 ? "w-0, w-1" : "w-1"; }) ==
        Seconds{3, 10, 20, 30});
  CHECK(said(45, [](int s) { return std::to_string(s); }) ==
        Seconds{3, 10, 20, 30, 40});
}

TEST_CASE("a new wait starts over") {
  WaitingPace pace;
  CHECK(pace.due(Milliseconds{100'000}, "w-0"));
  pace.start_again();
  CHECK_FALSE(pace.due(Milliseconds{1'000}, "w-0"));
  CHECK(pace.due(Milliseconds{3'000}, "w-0"));
}

}  // namespace
}  // namespace muster
