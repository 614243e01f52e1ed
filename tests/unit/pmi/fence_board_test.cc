// SPDX-License-Identifier: Apache-2.0
// Fences meet by participants and sequence; whoever is missing has a name.
#include "pmi/fence_board.h"
#include "catch.h"
#include "pmi/name_board.h"
#include "worlds.h"

using namespace muster;
using muster::test::make_world;

namespace {

bool completes(const Result<std::optional<FenceOutcome>>& outcome) {
  REQUIRE(outcome);
  return outcome->has_value();
}

}  // namespace

TEST_CASE("a fence ends with the last node's contribution") {
  const World world = *make_world(4, {"0-1", "2-3"});
  FenceBoard board(world);
  const auto now = Clock::now();
  auto first = board.add({0, 7, "pmix:*", 0, "ab"}, now);
  REQUIRE(first);
  CHECK_FALSE(*first);
  CHECK(board.awaits(2));
  CHECK_FALSE(board.awaits(1));
  auto second = board.add({1, 9, "pmix:*", 0, "cd"}, now);
  REQUIRE(second);
  REQUIRE(*second);
  CHECK((*second)->data == "abcd");
  CHECK((*second)->waiting ==
        std::vector<std::pair<int, uint32_t>>{{0, 7}, {1, 9}});
  CHECK(board.open() == 0);
}

TEST_CASE("the next fence may begin before the last has ended") {
  const World world = *make_world(2, {"0", "1"});
  FenceBoard board(world);
  const auto now = Clock::now();
  CHECK_FALSE(completes(board.add({0, 1, "pmix:*", 0, "a"}, now)));
  CHECK_FALSE(completes(board.add({0, 2, "pmix:*", 1, "b"}, now)));
  const auto ended = board.add({1, 1, "pmix:*", 0, "c"}, now);
  REQUIRE(*ended);
  CHECK((*ended)->data == "ac");
  CHECK(board.open() == 1);
}

TEST_CASE("fences of some ranks ask only their nodes") {
  const World world = *make_world(3, {"0", "1", "2"});
  FenceBoard board(world);
  CHECK_FALSE(completes(board.add({0, 1, "pmix:0,2", 0, ""}, Clock::now())));
  CHECK_FALSE(board.add({1, 1, "pmix:0,2", 0, ""}, Clock::now()));
  CHECK_FALSE(board.add({0, 2, "pmix:0,2", 0, ""}, Clock::now()));
  CHECK(completes(board.add({2, 1, "pmix:0,2", 0, ""}, Clock::now())));
}

TEST_CASE("a stalled fence names the missing ranks") {
  const World world = *make_world(6, {"0-1", "2-3", "4-5"});
  FenceBoard board(world);
  const auto now = Clock::now();
  (void)board.add({1, 1, "pmix:*", 0, ""}, now);
  CHECK(board.stalled(now - Milliseconds(1)).empty());
  const auto stalled = board.stalled(now);
  REQUIRE(stalled.size() == 1);
  CHECK(stalled[0].missing_ranks == std::vector<int>{0, 1, 4, 5});
  CHECK(stalled[0].arrived_nodes == 1);
  CHECK(ranks_on_hosts(world, stalled[0].missing_ranks, 1) ==
        "ranks 0-1,4-5 on w-0 and 1 more hosts");
}

TEST_CASE("a request that publishes a name twice is refused whole") {
  NameBoard board;
  const auto answers = board.handle(
      1, {"publish", 0, {"b", "a", "a"}, {"", "v", "w"}, false, 0});
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].reply.error == "exists");
  CHECK(board.handle(2, {"lookup", 0, {"b"}, {}, false, 0})[0].reply.error ==
        "not_found");
}

TEST_CASE("names are found, waited for, and taken back") {
  NameBoard board;
  wire::NamesRequest lookup{"lookup", 1, {"a"}, {}, true, 0};
  CHECK(board.handle(1, lookup).empty());
  const auto answers = board.handle(2, {"publish", 0, {"a"}, {"v"}, false, 0});
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].ticket == 1);
  CHECK(answers[1].reply.values == std::vector<std::string>{"v"});
  CHECK(answers[1].reply.owners == std::vector<int>{0});
  CHECK(
      board.handle(3, {"publish", 1, {"a"}, {"w"}, false, 0})[0].reply.error ==
      "exists");
  CHECK(board.handle(4, {"unpublish", 0, {"a"}, {}, false, 0})[0]
            .reply.error.empty());
  lookup.wait = false;
  CHECK(board.handle(5, lookup)[0].reply.error == "not_found");
  lookup.wait = true;
  CHECK(board.handle(6, lookup).empty());
  REQUIRE(board.expire(6));
  CHECK_FALSE(board.expire(6));
}

TEST_CASE("unpublishing no key takes back all of its owner's") {
  NameBoard board;
  board.handle(1, {"publish", 0, {"a", "b"}, {"v", "w"}, false, 0});
  board.handle(2, {"publish", 1, {"c"}, {"x"}, false, 0});
  CHECK(board.handle(3, {"unpublish", 0, {}, {}, false, 0})[0]
            .reply.error.empty());
  const auto left =
      board.handle(4, {"lookup", 1, {"a", "b", "c"}, {}, false, 0});
  CHECK(left[0].reply.keys == std::vector<std::string>{"c"});
}
