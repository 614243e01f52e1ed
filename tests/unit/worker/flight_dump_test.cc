// SPDX-License-Identifier: Apache-2.0
// Dumps of the forms that PyTorch has had. Those of form 2.10 were written by
// its own pickler (torch::jit::Pickler, called as c10d's pickle_str calls it),
// the others by Python's.
#include "worker/hang/flight_dump.h"

#include "base/fd.h"
#include "catch.h"

namespace muster {
namespace {

using wire::FlightState;

wire::FlightRecord read(const std::string& name) {
  const auto bytes = read_file(MUSTER_FLIGHT_DUMPS + ("/" + name));
  REQUIRE(bytes);
  const auto record = read_flight_dump(*bytes);
  REQUIRE(record);
  return *record;
}

TEST_CASE("a dump of today") {
  const auto record = read("form_2_10_rank_0");
  CHECK(record.whole);
  REQUIRE(record.groups.size() == 1);
  const wire::FlightGroup& group = record.groups[0];
  CHECK(group.name == "0");
  CHECK(group.description == "default_pg");
  CHECK(group.ranks == std::vector<int>{0, 1, 2, 3});
  CHECK(group.last == 4);
  REQUIRE(group.calls.size() == 4);
  CHECK(group.calls[1].operation == "all_gather_into_tensor");
  CHECK(group.calls[1].type == "BFloat16");
  const wire::FlightCall& call = group.calls[2];
  CHECK(call.seq == 3);
  CHECK(call.operation == "all_reduce");
  CHECK(call.state == FlightState::kStarted);
  CHECK(call.called_ns == 1769855403000000000);
  CHECK(call.elements == 1024 * 1024);
  CHECK(call.shape == "[1024, 1024]");
  CHECK(call.place == "train.py:88 (step)");
  CHECK(group.calls[3].state == FlightState::kScheduled);
}

TEST_CASE("of a ring that has gone round, the calls around where it stands") {
  const auto record = read("form_2_10_ring");
  CHECK_FALSE(record.whole);
  REQUIRE(record.groups.size() == 1);
  REQUIRE(record.groups[0].calls.size() == 6);
  CHECK(record.groups[0].calls.front().seq == 35);
  CHECK(record.groups[0].calls[4].seq == 39);
  CHECK(record.groups[0].calls[4].state == FlightState::kScheduled);
  CHECK(record.groups[0].calls.back().operation == "barrier");
}

TEST_CASE("a list of entries, as first") {
  const auto record = read("form_list");
  REQUIRE(record.groups.size() == 1);
  REQUIRE(record.groups[0].calls.size() == 2);
  const wire::FlightCall& call = record.groups[0].calls[1];
  CHECK(call.seq == 8);
  CHECK(call.called_ns == 1769855400000000000);
  CHECK(call.elements == 18);
  CHECK(call.shape == "[4, 4] and 1 more");
  CHECK(call.place == "train.py:12");
}

TEST_CASE("groups by number, without names") {
  const auto record = read("form_1_4");
  REQUIRE(record.groups.size() == 1);
  CHECK(record.groups[0].name == "3");
  CHECK(record.groups[0].ranks == std::vector<int>{0, 2, 4});
  CHECK(record.groups[0].calls[0].operation == "broadcast");
}

TEST_CASE("a group whose sends were counted with the rest is left out") {
  const auto record = read("form_1_4_sends");
  REQUIRE(record.groups.size() == 1);
  CHECK(record.groups[0].name == "1");
}

TEST_CASE("several in one launch are one call, and sends are none") {
  const auto record = read("form_2_5_protocol_4");
  REQUIRE(record.groups.size() == 1);
  const auto& calls = record.groups[0].calls;
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].operation == "all_gather_into_tensor");
  // One stream: what is behind a call that is over is over.
  for (size_t i = 0; i < 3; ++i)
    CHECK(calls[i].state == FlightState::kCompleted);
  CHECK(calls[3].state == FlightState::kScheduled);
}

TEST_CASE("a group that was made anew under its name counts from then on") {
  const auto record = read("form_2_10_made_anew");
  REQUIRE(record.groups.size() == 1);
  const wire::FlightGroup& group = record.groups[0];
  CHECK(group.last == 12);
  // Of those that are not around where it stands the kinds are kept.
  CHECK(group.calls.size() == 4);
  CHECK(group.from == 1);
  CHECK(group.sequence == std::vector<int>(12, 0));
  REQUIRE(group.kinds.size() == 1);
  CHECK(group.kinds[0].elements == 4);
}

TEST_CASE("what is no dump is refused in a sentence") {
  CHECK(read_flight_dump("").error().text().find("ends early") !=
        std::string::npos);
  CHECK(read_flight_dump("\x80\x02K\x01.")
            .error()
            .text()
            .find("no list of entries") != std::string::npos);
  const auto code = read_file(MUSTER_FLIGHT_DUMPS "/runs_code");
  REQUIRE(code);
  CHECK(read_flight_dump(*code).error().text().find("run code") !=
        std::string::npos);
}

TEST_CASE("a dump that is cut off at any byte is refused") {
  const auto bytes = read_file(MUSTER_FLIGHT_DUMPS "/form_2_10_rank_3");
  REQUIRE(bytes);
  for (size_t size = 0; size < bytes->size(); ++size) {
    CHECK_FALSE(read_flight_dump(std::string_view(*bytes).substr(0, size)));
  }
}

}  // namespace
}  // namespace muster
