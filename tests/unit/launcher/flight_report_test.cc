// SPDX-License-Identifier: Apache-2.0
// What the records of all ranks say together.
#include "launcher/hang/flight_report.h"

#include "catch.h"

namespace muster {
namespace {

using wire::FlightCall;
using wire::FlightGroup;
using wire::FlightRecord;
using wire::FlightState;

constexpr FlightState kOver = FlightState::kCompleted;
constexpr FlightState kBegun = FlightState::kStarted;
constexpr FlightState kCalled = FlightState::kScheduled;
constexpr int64_t kNoon = 1769860800'000'000'000;  // of 2026-01-31, UTC

FlightCall call(int64_t seq, FlightState state,
                const std::string& operation = "all_reduce",
                int64_t elements = 8) {
  return {seq,
          operation,
          state,
          kNoon + seq * 1'000'000'000,
          elements,
          "Float",
          "[" + std::to_string(elements) + "]",
          "train.py:" + std::to_string(80 + seq) + " (step)"};
}

FlightGroup group(std::vector<FlightCall> calls, const std::string& name = "0",
                  std::vector<int> ranks = {0, 1, 2, 3}) {
  FlightGroup out;
  out.name = name;
  out.description = name == "0" ? "default_pg" : name;
  out.members = name;
  out.ranks = std::move(ranks);
  if (!calls.empty()) out.last = calls.back().seq;
  out.calls = std::move(calls);
  return out;
}

FlightRecord record(int rank, std::vector<FlightGroup> groups) {
  FlightRecord out;
  out.rank = rank;
  out.written_ns = kNoon + rank;
  out.whole = true;
  out.groups = std::move(groups);
  return out;
}

std::vector<std::string> texts(const std::vector<FlightIssue>& issues) {
  std::vector<std::string> out;
  for (const FlightIssue& issue : issues) out.push_back(issue.text);
  return out;
}

using Texts = std::vector<std::string>;

TEST_CASE("the rank that has not entered what the others wait in is named") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<FlightCall> calls = {call(1, kOver, "broadcast")};
    if (rank != 2) calls.push_back(call(2, kBegun));
    if (rank == 0) calls.push_back(call(3, kCalled));
    records.push_back(record(rank, {group(calls)}));
  }
  const auto issues = flight_issues(records);
  CHECK(texts(issues) ==
        Texts{"PyTorch: rank 2 has not entered all_reduce #2 of the default "
              "group at train.py:82 (step); 3 others wait in it since "
              "12:00:02 UTC; its last call was broadcast #1 at train.py:81 "
              "(step)"});
  CHECK(issues[0].odd == std::set<int>{2});
  CHECK(issues[0].waits);
}

TEST_CASE("several, one of whom has made no call at all") {
  const auto issues =
      flight_issues({record(0, {group({call(1, kOver), call(2, kBegun)})}),
                     record(1, {group({call(1, kOver)})}),
                     record(2, {group({})}), record(3, {})});
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].odd == std::set<int>{1, 2, 3});
  CHECK(issues[0].text.find("ranks 1-3 have not entered all_reduce #2") !=
        std::string::npos);
  CHECK(issues[0].text.find("1 other waits in it") != std::string::npos);
}

TEST_CASE("whose ring has gone round is not blamed for what left it") {
  auto records = std::vector{record(0, {group({call(900, kBegun)})}),
                             record(1, {group({})}), record(2, {}),
                             record(3, {group({call(900, kBegun)})})};
  records[1].whole = records[2].whole = false;
  const auto issues = flight_issues(records);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].odd.empty());
}

TEST_CASE("who calls another operation is named with both places") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    records.push_back(record(
        rank,
        {group({call(1, kOver), rank == 3 ? call(2, kBegun, "all_gather", 5)
                                          : call(2, kBegun)})}));
  }
  records[3].groups[0].calls[1].place = "eval.py:9";
  const auto issues = flight_issues(records);
  CHECK(texts(issues) ==
        Texts{"PyTorch: rank 3 calls all_gather #2 of the default group at "
              "eval.py:9, the 3 others all_reduce at train.py:82 (step)"});
  CHECK(issues[0].odd == std::set<int>{3});
  CHECK_FALSE(issues[0].waits);
}

TEST_CASE("another size, also where some think it is over") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    records.push_back(record(
        rank, {group(rank == 1 ? std::vector{call(2, kOver, "broadcast", 4),
                                             call(3, kBegun)}
                               : std::vector{call(2, kBegun, "broadcast")})}));
  }
  const auto issues = flight_issues(records);
  CHECK(texts(issues) ==
        Texts{"PyTorch: rank 1 calls broadcast #2 of the default group with "
              "Float [4] at train.py:82 (step), the 3 others with Float [8] "
              "at train.py:82 (step)"});
}

TEST_CASE(
    "sizes that may differ are no mismatch, and two against two is "
    "nobody's fault") {
  CHECK(
      flight_issues(
          {record(0, {group({call(1, kBegun, "all_gather", 1)}, "0", {0, 1})}),
           record(1,
                  {group({call(1, kBegun, "all_gather", 2)}, "0", {0, 1})})})[0]
          .text.find("none is behind") != std::string::npos);
  const auto issues = flight_issues(
      {record(0, {group({call(1, kBegun)}, "0", {0, 1})}),
       record(1, {group({call(1, kBegun, "barrier")}, "0", {0, 1})})});
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].odd.empty());
  CHECK(issues[0].text.find("all_reduce") != std::string::npos);
  CHECK(issues[0].text.find("barrier") != std::string::npos);
}

TEST_CASE("the first difference counts, also where all is over behind it") {
  // 1 called one more at #2, and all looks well until the numbers run out.
  std::vector<FlightCall> zero;
  std::vector<FlightCall> one;
  for (int64_t seq = 1; seq < 40; ++seq) {
    zero.push_back(call(seq, kOver));
    one.push_back(call(seq, kOver, "all_reduce", seq == 2 ? 4 : 8));
  }
  zero.push_back(call(40, kCalled, "barrier"));
  one.push_back(call(40, kCalled));
  auto first = group(zero, "0", {0, 1});
  auto second = group(one, "0", {0, 1});
  for (FlightGroup* const cut : {&first, &second}) {
    wire::note_sequence(*cut);
    wire::keep_telling_calls(*cut, 4);
  }
  const auto issues = flight_issues({record(0, {first}), record(1, {second})});
  REQUIRE_FALSE(issues.empty());
  CHECK(issues[0].text ==
        "PyTorch: rank 1 calls all_reduce #2 of the default group with Float "
        "[4] at train.py:82 (step), the other one with Float [8] at "
        "train.py:82 (step); from there on rank 1 is one call ahead");
  CHECK(issues[0].odd == std::set<int>{1});
  CHECK(issues[0].differs);
}

TEST_CASE("a difference where nobody waits comes behind who is missing") {
  auto records = std::vector{
      record(0, {group({call(1, kOver)}, "a", {0, 1}),
                 group({call(7, kBegun)}, "b", {0, 1})}),
      record(1, {group({call(1, kOver, "all_reduce", 4)}, "a", {0, 1}),
                 group({call(6, kOver)}, "b", {0, 1})})};
  auto issues = flight_issues(records);
  REQUIRE(issues.size() == 2);
  CHECK(issues[0].waits);
  CHECK(issues[1].differs);
  for (FlightRecord& one : records) one.groups.pop_back();
  issues = flight_issues(records);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].differs);
}

TEST_CASE("all are in it: nobody is behind") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    records.push_back(record(rank, {group({call(5, kCalled)})}));
  }
  CHECK(texts(flight_issues(records)) ==
        Texts{"PyTorch: 4 ranks are in all_reduce #5 of the default group at "
              "train.py:85 (step) since 12:00:05 UTC, and none is behind"});
  records.pop_back();  // it may be that one
  CHECK(texts(flight_issues(records)) ==
        Texts{"PyTorch: 3 ranks are in all_reduce #5 of the default group at "
              "train.py:85 (step) since 12:00:05 UTC",
              "PyTorch: no record of rank 3"});
}

TEST_CASE("a GPU that has not begun what the others have") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) {
    records.push_back(
        record(rank, {group({call(5, rank == 1 ? kCalled : kBegun)})}));
  }
  const auto issues = flight_issues(records);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].odd == std::set<int>{1});
  CHECK(issues[0].text.find("not begun it on the GPU") != std::string::npos);
}

TEST_CASE("who waits in another group comes behind whom it waits for") {
  // 0 and 1 are in "a"; 1 waits in "b" for 2, and so is missing from "a".
  const auto issues =
      flight_issues({record(0, {group({call(4, kBegun)}, "a", {0, 1})}),
                     record(1, {group({call(3, kOver)}, "a", {0, 1}),
                                group({call(9, kBegun)}, "b", {1, 2})}),
                     record(2, {group({call(8, kOver)}, "b", {1, 2})})});
  REQUIRE(issues.size() == 2);
  CHECK(issues[0].odd == std::set<int>{2});
  CHECK(issues[0].text.find("of group b") != std::string::npos);
  CHECK(issues[1].odd == std::set<int>{1});
}

TEST_CASE("split groups of one name are apart") {
  auto one = group({call(4, kBegun)}, "5", {0, 1});
  auto other = group({call(3, kOver)}, "5", {2, 3});
  other.members = "else";
  const auto issues =
      flight_issues({record(0, {one}), record(1, {one}), record(2, {other})});
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].odd.empty());
}

TEST_CASE("of another time, or unreadable: left out, and said") {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 3; ++rank) {
    records.push_back(record(
        rank, {group({call(rank == 1 ? 1 : 2, rank == 1 ? kOver : kBegun)}, "0",
                     {0, 1, 2})}));
  }
  records[1].written_ns -= 200'000'000'000;
  records[2].problem = "/tmp/x: damaged";
  const auto issues = flight_issues(records);
  for (const FlightIssue& issue : issues) CHECK(issue.odd.empty());
  CHECK(texts(issues).back() == "PyTorch: /tmp/x: damaged");
  CHECK(flight_issues({}).empty());
  CHECK(flight_issues({record(0, {group({call(1, kOver)})})}).empty());
}

}  // namespace
}  // namespace muster
