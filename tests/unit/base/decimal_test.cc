// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a number at the front of a text is read as far as it goes") {
  const auto [text, value, length] =
      GENERATE(table<std::string, double, size_t>({{"400 Gb/sec", 400, 3},
                                                   {"1.5h", 1.5, 3},
                                                   {"5e", 5, 1},
                                                   {"2e3ms", 2000, 3},
                                                   {"-1", -1, 2},
                                                   {".5", 0.5, 2},
                                                   {"0x10", 0, 1},
                                                   {"1.2.3", 1.2, 3}}));
  INFO(text);
  const auto number = leading_decimal(text);
  REQUIRE(number);
  CHECK(number->value == value);
  CHECK(number->length == length);
}

TEST_CASE("what is no number, or none that fits, is refused") {
  for (const char* text :
       {"", "+1", " 1", "-", ".", "inf", "nan", "e5", "1e999", "Gb"}) {
    INFO(text);
    CHECK_FALSE(leading_decimal(text));
  }
}
