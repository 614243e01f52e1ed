// SPDX-License-Identifier: Apache-2.0
// Any bytes become a valid JSON string; times are exact.
#include "base/json_text.h"

#include "catch.h"

namespace muster {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST_CASE("escapes and repairs") {
  CHECK(json("") == "\"\"");
  CHECK(json("a\"b\\c\n\r\t") == "\"a\\\"b\\\\c\\n\\r\\t\"");
  CHECK(json(std::string_view("\0\x1b\x7f", 3)) == "\"\\u0000\\u001b\\u007f\"");
  CHECK(json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") ==
        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
  const std::string repaired = "\xef\xbf\xbd";
  CHECK(json("\xff") == "\"" + repaired + "\"");
  CHECK(json("a\xc3") == "\"a" + repaired + "\"");
  CHECK(json("\xc3(") == "\"" + repaired + "(\"");
  CHECK(json("\xc0\x80") == "\"" + repaired + repaired + "\"");
  CHECK(json("\xed\xa0\x80") == "\"" + repaired + repaired + repaired + "\"");
}

TEST_CASE("a byte that needs an escape is found at any place") {
  for (size_t length = 1; length < 70; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (const char c : {'"', '\\', '\x01', '\x7f', '\x80'}) {
        std::string text(length, '~');
        text[at] = c;
        const std::string whole = json(text);
        const std::string before(at, '~');
        const std::string after(length - at - 1, '~');
        const std::string one = json(std::string_view(&c, 1));
        REQUIRE(whole ==
                "\"" + before + one.substr(1, one.size() - 2) + after + "\"");
      }
    }
  }
}

TEST_CASE("time stamps") {
  const auto stamp = [](int64_t time) {
    std::string out;
    append_timestamp(out, time);
    return out;
  };
  CHECK(stamp(0) == "1970-01-01T00:00:00.000000000Z");
  CHECK(stamp(1769862896123456789) == "2026-01-31T12:34:56.123456789Z");
  CHECK(stamp(1769862896000000001) == "2026-01-31T12:34:56.000000001Z");
  CHECK(stamp(1769862897999999999) == "2026-01-31T12:34:57.999999999Z");
  CHECK(realtime_ns() > 1'700'000'000'000'000'000);
}

}  // namespace
}  // namespace muster
