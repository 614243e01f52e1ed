// SPDX-License-Identifier: Apache-2.0
// Long lines, read back as they were.
#include "logs/part_joiner.h"

#include "catch.h"

using namespace muster;

namespace {

ParsedLine part(int rank, int number, bool last, const std::string& text,
                uint64_t sequence = 1) {
  ParsedLine line;
  line.rank = rank;
  line.part = number;
  line.last_part = last;
  line.message = text;
  line.sequence = sequence;
  return line;
}

}  // namespace

TEST_CASE("parts of several ranks, mixed, become their lines") {
  PartJoiner joiner;
  CHECK_FALSE(joiner.add(part(0, 1, false, "a")));
  CHECK_FALSE(joiner.add(part(1, 1, false, "x")));
  CHECK_FALSE(joiner.add(part(0, 2, false, "b")));
  const auto other = joiner.add(part(1, 2, true, "y"));
  REQUIRE(other);
  CHECK(other->message == "xy");
  ParsedLine plain;
  plain.message = "whole";
  CHECK(joiner.add(plain)->message == "whole");
  const auto line = joiner.add(part(0, 3, true, "c"));
  REQUIRE(line);
  CHECK(line->message == "abc");
  CHECK(joiner.rest().empty());
}

TEST_CASE("a missing end loses nothing and joins no strangers") {
  PartJoiner joiner;
  CHECK_FALSE(joiner.add(part(0, 1, false, "old")));
  const auto before = joiner.add(part(0, 1, false, "new", 2));
  REQUIRE(before);
  CHECK(before->message == "old");
  const auto rest = joiner.rest();
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].message == "new");
}
