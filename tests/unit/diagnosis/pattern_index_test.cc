// SPDX-License-Identifier: Apache-2.0
// The index finds what trying every pattern finds.
#include "diagnosis/book/pattern_index.h"

#include <re2/re2.h>

#include "catch.h"
#include "diagnosis/book/literal_finder.h"

using namespace muster;

TEST_CASE("words are found in either case, inside and behind each other") {
  const LiteralFinder finder({"error", "err", "terror", "or x", "", "2"});
  std::vector<int> found;
  finder.find("TERRor x", found);
  CHECK(found == std::vector<int>{0, 1, 2, 3});
  finder.find("er2ro", found);
  CHECK(found == std::vector<int>{5});
  finder.find("", found);
  CHECK(found.empty());
  LiteralFinder().find("error", found);
  CHECK(found.empty());
}

TEST_CASE("the index finds what each pattern by itself finds") {
  const std::vector<std::string> patterns = {
      "(?i)out of memory", "^\\s*Killed$",    "\\d+%",   "a|b",
      "NCCL WARN .*err",   "[Ee]rror: (\\d)", ".{3}xyz", "\\bgot 7\\b"};
  PatternIndex index;
  for (const std::string& pattern : patterns) REQUIRE(index.add(pattern));
  REQUIRE(index.compile());
  for (const std::string line :
       {"Out Of Memory", " Killed", "Killed 3", "12% done", "abc", "zzz",
        "x NCCL WARN an err", "error: 7, got 7", "xyz", "123xyz", "",
        "caf\xe9 out of memory \xff"}) {
    std::vector<int> expected;
    for (size_t i = 0; i < patterns.size(); ++i) {
      RE2::Options options(RE2::Latin1);
      if (RE2::PartialMatch(line, RE2(patterns[i], options))) {
        expected.push_back(static_cast<int>(i));
      }
    }
    INFO(line);
    CHECK(index.match(line) == expected);
  }
}

TEST_CASE("a pattern is tried where a word of each of its sets stands") {
  PatternIndex index;
  REQUIRE(
      index.add("(lost|no) (peer|rank)", {{"lost", "no "}, {"peer", "rank"}}));
  REQUIRE(index.add("(", {{"never there"}}));  // not compiled
  REQUIRE(index.compile());
  CHECK(index.match("no rank") == std::vector<int>{0});
  CHECK(index.match("lost").empty());
  CHECK(index.match("the rank has lost it").empty());
}

TEST_CASE("a pattern that is none is refused, and no patterns are a set") {
  PatternIndex index;
  const auto added = index.add("a(b");
  REQUIRE(!added);
  CHECK(added.error().why.find("missing )") != std::string::npos);
  PatternIndex empty;
  CHECK(empty.match("anything").empty());
  REQUIRE(empty.compile());
  CHECK(empty.match("anything").empty());
}
