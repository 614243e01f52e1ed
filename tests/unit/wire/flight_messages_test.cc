// SPDX-License-Identifier: Apache-2.0
// Records there and back, and within a limit.
#include "wire/flight_messages.h"

#include "catch.h"

namespace muster::wire {
namespace {

FlightRecord record_of(int rank, int groups, int calls, bool waits = true) {
  FlightRecord record;
  record.rank = rank;
  record.written_ns = 17;
  record.whole = true;
  for (int i = 0; i < groups; ++i) {
    FlightGroup group;
    group.name = std::to_string(i);
    group.description = "tp";
    group.members = "4-77";
    group.ranks = {0, 1};
    group.last = calls;
    for (int seq = 1; seq <= calls; ++seq) {
      group.calls.push_back({seq, "all_reduce",
                             seq < calls / 2 || !waits ? FlightState::kCompleted
                                                       : FlightState::kStarted,
                             5, 8, "Float", "[8]", "train.py:88 (step)"});
    }
    record.groups.push_back(std::move(group));
  }
  return record;
}

TEST_CASE("records there and back") {
  const auto back =
      flight_records_from_json(to_json({record_of(3, 2, 4)}, 1 << 20));
  REQUIRE(back);
  REQUIRE(back->size() == 1);
  const FlightRecord& record = (*back)[0];
  CHECK(record.rank == 3);
  CHECK(record.written_ns == 17);
  CHECK(record.whole);
  REQUIRE(record.groups.size() == 2);
  CHECK(record.groups[1].name == "1");
  CHECK(record.groups[1].ranks == std::vector<int>{0, 1});
  REQUIRE(record.groups[1].calls.size() == 4);
  const FlightCall& call = record.groups[1].calls[3];
  CHECK(call.seq == 4);
  CHECK(call.state == FlightState::kStarted);
  CHECK(call.elements == 8);
  CHECK(call.place == "train.py:88 (step)");
  CHECK_FALSE(flight_records_from_json("{\"records\":[{\"rank\":\"x\"}]}"));
  CHECK_FALSE(flight_records_from_json(
      R"({"records":[{"groups":[{"calls":[{"state":"asleep"}]}]}]})"));
}

TEST_CASE("the kinds of all calls travel as numbers, and go first") {
  FlightRecord record = record_of(3, 1, 2000, false);
  FlightGroup& group = record.groups[0];
  group.calls[25].elements = 9;
  group.calls.erase(group.calls.begin() + 30);
  note_sequence(group);
  keep_telling_calls(group, 4);
  CHECK(group.calls.size() == 4);
  CHECK(group.from == 1);
  REQUIRE(group.kinds.size() == 2);
  REQUIRE(group.sequence.size() == 2000);
  CHECK(group.kinds[static_cast<size_t>(group.sequence[25])].elements == 9);
  CHECK(group.sequence[30] == -1);
  const std::string text = to_json({record}, 1 << 20);
  CHECK(text.size() < 8'000);
  const auto back = flight_records_from_json(text);
  REQUIRE(back);
  CHECK((*back)[0].groups[0].sequence == group.sequence);
  CHECK((*back)[0].groups[0].kinds == group.kinds);
  const auto small = flight_records_from_json(to_json({record}, 2'000));
  REQUIRE(small);
  CHECK((*small)[0].groups[0].sequence.empty());
  CHECK((*small)[0].groups[0].calls.size() == 4);
}

TEST_CASE("numbers out of order or below zero make no sequence") {
  FlightGroup group = record_of(0, 1, 4).groups[0];
  std::swap(group.calls[1], group.calls[2]);
  note_sequence(group);
  CHECK(group.sequence.size() == 4);
  group.calls[3].seq = 0;  // behind it are higher ones
  note_sequence(group);
  CHECK(group.sequence.empty());
  group.calls[0].seq = INT64_MIN;
  group.calls[3].seq = INT64_MAX;
  note_sequence(group);
  CHECK(group.sequence.empty());
}

TEST_CASE("what is asked, there and back") {
  const auto back = flight_request_from_json(
      to_json(FlightRequest{true, {{4, 9, {"/a"}, {"/p", "/q"}}}}));
  REQUIRE(back);
  CHECK(back->ask);
  REQUIRE(back->places.size() == 1);
  CHECK(back->places[0].since_ns == 9);
  CHECK(back->places[0].pipes == std::vector<std::string>{"/p", "/q"});
}

TEST_CASE("less and less is told where there is no room for it") {
  const std::vector<FlightRecord> many = {record_of(0, 8, 40),
                                          record_of(1, 8, 40, false)};
  size_t calls = SIZE_MAX;
  for (const size_t limit : {1 << 20, 20'000, 10'000, 5'000}) {
    const std::string text = to_json(many, limit);
    CHECK(text.size() <= limit);
    const auto back = flight_records_from_json(text);
    REQUIRE(back);
    REQUIRE(back->size() == 2);
    REQUIRE(!(*back)[0].groups.empty());
    const FlightGroup& group = (*back)[0].groups[0];
    CHECK(group.last == 40);
    // The first that is not over is there to the end.
    CHECK(std::any_of(group.calls.begin(), group.calls.end(),
                      [](const auto& call) { return call.seq == 20; }));
    CHECK(group.calls.size() <= calls);
    calls = group.calls.size();
  }
  const auto none = flight_records_from_json(to_json(many, 100));
  REQUIRE(none);
  CHECK(none->empty());
}

}  // namespace
}  // namespace muster::wire
