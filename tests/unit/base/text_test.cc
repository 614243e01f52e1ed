// SPDX-License-Identifier: Apache-2.0
// The small parsers and writers of base/text.h, at their edges.
#include <climits>

#include "base/text.h"

#include <limits>

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("a text is cut between characters, not within one") {
  const std::string euros = "€€";  // three bytes each
  CHECK(utf8_prefix(euros, 6) == euros);
  for (const size_t most : {3u, 4u, 5u}) CHECK(utf8_prefix(euros, most) == "€");
  CHECK(utf8_prefix(euros, 2).empty());
  CHECK(utf8_prefix("\x80\x80\x80\x80\x80", 4).size() == 4);  // no UTF-8
  CHECK(one_line("a\nb\x7f€", 5) == "a b ");
}

TEST_CASE("trim, split, join") {
  CHECK(trim(" \t\r\n a b \v\f") == "a b");
  CHECK(trim("  ").empty());
  CHECK(split("a,,b,", ',').size() == 4);
  CHECK(split("", ',').size() == 1);
  CHECK(split_words("  a \t b\n").size() == 2);
  CHECK(split_words("").empty());
  CHECK(join({"a", "", "b"}, "-") == "a--b");
  CHECK(join({}, "-").empty());
}

TEST_CASE("integers are whole words") {
  CHECK(parse_int("-2147483648") == INT_MIN);
  CHECK(parse_int("2147483647") == INT_MAX);
  for (const char* const wide : {"2147483648", "-2147483649", "4294967338",
                                 "99999999999999999999", "", "7x"}) {
    INFO(wide);
    CHECK_FALSE(parse_int(wide));
  }
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-12") == -12);
  CHECK(parse_integer("9223372036854775807") ==
        std::numeric_limits<int64_t>::max());
  for (const char* bad :
       {"", " 1", "1 ", "+1", "1x", "0x1", "1.0", "-", "9223372036854775808"}) {
    INFO(bad);
    CHECK_FALSE(parse_integer(bad));
  }
}

TEST_CASE("durations") {
  const std::pair<const char*, int64_t> good[] = {
      {"0", 0},         {"90", 90'000},       {"90s", 90'000},
      {"15m", 900'000}, {"2h", 7'200'000},    {"3d", 259'200'000},
      {"250ms", 250},   {"1h30m", 5'400'000}, {"1.5s", 1500},
      {"1m30", 90'000}};
  for (const auto& [text, value] : good) {
    INFO(text);
    CHECK(parse_duration_ms(text) == value);
  }
  for (const char* bad : {"", "s", "-1", "1x", "1 s", "1e10d", "nan", "inf",
                          "NAN(1)", "ms", "1s ", "1.5.5", "1h30", "1d12"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration_ms(bad));
  }
  std::string huge;
  for (int i = 0; i < 200; ++i) huge += "1000000000d";
  CHECK_FALSE(parse_duration_ms(huge));
}

TEST_CASE("sizes and times for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(64ULL << 20) == "64 MiB");
  CHECK(human_bytes(std::numeric_limits<uint64_t>::max()) == "16777216 TiB");
  CHECK(human_duration_ms(120) == "120 ms");
  CHECK(human_duration_ms(61'500) == "61.5 s");
  CHECK(human_duration_ms(150'000) == "2 min 30 s");
  CHECK(human_duration_ms(7'260'000) == "2 h 1 min");
}

TEST_CASE("quoting for the shell") {
  CHECK(shell_quote("a-b_c=1,2:/x@y%+.") == "a-b_c=1,2:/x@y%+.");
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("a b") == "'a b'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("$(x)\n") == "'$(x)\n'");
}

TEST_CASE("lower case touches ASCII only") {
  CHECK(to_lower("AbZ-\xc3\x84") == "abz-\xc3\x84");
}

TEST_CASE("the nearest candidate, if it is near") {
  CHECK(nearest("hostfiel", {"host", "hostfile"}) == "hostfile");
  CHECK_FALSE(nearest("zzzzzz", {"host", "hostfile"}));
  CHECK_FALSE(nearest("x", {}));
}

}  // namespace
}  // namespace muster
