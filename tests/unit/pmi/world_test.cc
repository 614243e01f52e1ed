// SPDX-License-Identifier: Apache-2.0
// Who is where, and how that is told to MPICH.
#include "catch.h"
#include "pmi/participants.h"
#include "pmi/process_mapping.h"
#include "worlds.h"

using namespace muster;
using muster::test::make_world;

TEST_CASE("rank ranges survive the way to text and back") {
  CHECK(rank_ranges({0, 1, 2, 8}) == "0-2,8");
  CHECK(rank_ranges({}).empty());
  const auto parsed = parse_rank_ranges("0-2,8", 9);
  REQUIRE(parsed);
  CHECK(*parsed == std::vector<int>{0, 1, 2, 8});
  for (const char* bad : {"9", "-1", "3-1", "1,1", "2,0", "x", "0-", ","}) {
    INFO(bad);
    CHECK_FALSE(parse_rank_ranges(bad, 9));
  }
}

TEST_CASE("a world knows every rank's node and local rank") {
  const auto world = make_world(5, {"0,2,4", "", "1,3"}, 2);
  REQUIRE(world);
  CHECK(world->node_of(3) == 2);
  CHECK(world->local_rank(4) == 2);
  CHECK(world->own_ranks() == std::vector<int>{1, 3});
  CHECK(world->who(1) == "rank 1 on w-2");
}

TEST_CASE("a world with a rank missing or twice is refused") {
  CHECK_FALSE(make_world(3, {"0", "2"}));
  CHECK_FALSE(make_world(2, {"0-1", "1"}));
  CHECK_FALSE(make_world(0, {""}));
  CHECK_FALSE(make_world(1, {"0"}, 1));
}

TEST_CASE(
    "a world knows the CPUs of its own ranks, and refuses what are none") {
  wire::JobMap map;
  map.size = 3;
  map.node = 1;
  map.nodes = {{"a", "0"}, {"b", "1-2"}};
  map.cpus = {"0-1,8", ""};
  const auto world = World::from(map);
  REQUIRE(world);
  CHECK(world->cpus_of(1) == std::vector<int>{0, 1, 8});
  CHECK(world->cpus_of(2).empty());
  map.cpus = {"x"};
  CHECK_FALSE(World::from(map));
  map.cpus.clear();
  CHECK(World::from(map)->cpus_of(2).empty());
}

TEST_CASE("participants are the same text in any order") {
  CHECK(participants_text("pmix", {3, 1, 2, 1}, 8) == "pmix:1-3");
  CHECK(participants_text("pmix", {1, 0}, 2) == "pmix:*");
  CHECK(participants_text("pmi1", {}, 2) == "pmi1:*");
  CHECK(*participant_ranks("pmix:*", 3) == std::vector<int>{0, 1, 2});
  CHECK_FALSE(participant_ranks("pmix:", 3));
  CHECK_FALSE(participant_ranks("pmix:3", 3));
}

TEST_CASE("the process mapping is the shortest that says it all") {
  CHECK(process_mapping(*make_world(8, {"0-3", "4-7"}), 900) ==
        "(vector,(0,2,4))");
  CHECK(process_mapping(*make_world(5, {"0-3", "4"}), 900) ==
        "(vector,(0,1,4),(1,1,1))");
  CHECK(process_mapping(*make_world(6, {"0,2,4", "1,3,5"}), 900) ==
        "(vector,(0,2,1))");
  CHECK(process_mapping(*make_world(3, {"1-2", "0"}), 900) ==
        "(vector,(1,1,1),(0,1,2))");
  CHECK(process_mapping(*make_world(3, {"1-2", "0"}), 10).empty());
}
