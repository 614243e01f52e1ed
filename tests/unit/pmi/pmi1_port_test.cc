// SPDX-License-Identifier: Apache-2.0
// Who may come in by PMI_PORT, and what it is told.
#include "pmi/pmi1_port.h"

#include "catch.h"
#include "worlds.h"

using namespace muster;

TEST_CASE("an id leads to its rank, anything else to nobody") {
  Pmi1Ids ids;
  const int first = ids.give(4, 77);
  const int second = ids.give(5, 0xffffffff);
  CHECK(first == 77);
  CHECK(second == 0x7fffffff);  // clients read it as an int
  CHECK(ids.rank_of("cmd=initack pmiid=77") == 4);
  CHECK(ids.rank_of("cmd=initack pmiid=2147483647") == 5);
  for (const char* line :
       {"cmd=initack pmiid=4", "cmd=initack pmiid=-1", "cmd=initack",
        "cmd=init pmiid=77", "pmiid=77", "", "GET / HTTP/1.1"}) {
    CHECK_FALSE(ids.rank_of(line));
  }
}

TEST_CASE("two ranks never get one id, and a rank has one at a time") {
  Pmi1Ids ids;
  const int first = ids.give(0, 0);
  const int second = ids.give(1, 0);
  CHECK(first != second);
  CHECK(second >= 0);
  const int again = ids.give(0, 9);
  CHECK(ids.rank_of("cmd=initack pmiid=" + std::to_string(again)) == 0);
  CHECK_FALSE(ids.rank_of("cmd=initack pmiid=" + std::to_string(first)));
}

TEST_CASE("the welcome says size, rank and debug, in this order") {
  const auto world = test::make_world(3, {"0-1", "2"}, 1);
  REQUIRE(world);
  CHECK(pmi1_welcome(*world, 2) ==
        "cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n");
}
