// SPDX-License-Identifier: Apache-2.0
// Logs whose lines do not stand in the order in which they were written.
#include "diagnosis/log/log_clock.h"

#include "catch.h"
#include "diagnosis/evidence.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

Verdict judge(const std::string& text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

std::vector<int64_t> places(const std::vector<std::string>& texts) {
  LogClock clock;
  std::vector<LogClock::Line> lines;
  for (const std::string& text : texts) {
    const ParsedLine line = parse_line(text);
    lines.push_back(
        {static_cast<int64_t>(lines.size() + 1) * kLogLineNs,
         clock.times_of(line.rank < 0 ? "" : std::to_string(line.rank), line)});
  }
  return clock.places(lines);
}

}  // namespace

TEST_CASE("lines are put into the order of their times") {
  const auto at =
      places({"[0] 2026-11-21T10:00:03Z a", "[0] b",
              "[1] 2026-11-21T10:00:01Z c", "[1] 2026-11-21T10:00:04Z d"});
  CHECK(at[2] < at[0]);
  CHECK(at[0] < at[1]);
  CHECK(at[1] - at[0] == kLogLineNs);  // neighbours stay neighbours
  CHECK(at[1] < at[3]);
}

TEST_CASE("an order stays where times are few, far apart or already in order") {
  const std::vector<int64_t> old = {kLogLineNs, 2 * kLogLineNs, 3 * kLogLineNs};
  CHECK(places({"2026-11-21T10:00:03Z a", "2026-11-21T10:00:01Z b", "c"}) ==
        old);
  CHECK(places({"2026-11-21T10:00:03Z a", "2026-01-01T10:00:01Z b",
                "2026-11-21T10:00:04Z c"}) == old);
  CHECK(places({"2026-11-21T10:00:01Z a", "2026-11-21T10:00:02Z b",
                "2026-11-21T10:00:03Z c"}) == old);
}

TEST_CASE("one clock is not compared with another") {
  const auto at = places({"[rank0]:[E1121 02:54:10.990 x.cpp:1] a",
                          "[rank0]:[E1121 02:54:11.990 x.cpp:1] b",
                          "[2026-11-20 01:00:00,123] c",
                          "[rank1]:[E1121 02:54:09.990 x.cpp:1] d"});
  CHECK(at[3] < at[0]);
  CHECK(at[1] < at[2]);  // its time is another clock's: it stays behind b
}

TEST_CASE("a line of nobody stands where the log has it") {
  const auto at = places({"[2026-11-21 01:00:00] iteration 10",
                          "[rank0]:[E1121 02:54:12.990 x.cpp:1] a",
                          "[rank1]:[E1121 02:54:11.990 x.cpp:1] b",
                          "[rank2]:[E1121 02:54:13.990 x.cpp:1] c",
                          "terminate called after throwing an instance"});
  CHECK(at[2] < at[1]);
  CHECK(at[3] < at[4]);
}

// kubectl logs -l … --timestamps: one pod after the other.
TEST_CASE("of logs one after another the earliest failure is the first") {
  const std::string victim =
      "[pod/x-worker-0/t] 2026-11-21T10:00:09.1Z RuntimeError: worker pool is "
      "broken\n"
      "[pod/x-worker-0/t] 2026-11-21T10:00:09.2Z srun: stop\n";
  const std::string cause =
      "[pod/x-worker-1/t] 2026-11-21T10:00:01.1Z ValueError: bad shape\n"
      "[pod/x-worker-1/t] 2026-11-21T10:00:01.2Z bye\n";
  CHECK(judge(victim + cause).host == "x-worker-1");
  CHECK(judge(cause + victim).host == "x-worker-1");
}
