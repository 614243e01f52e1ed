// SPDX-License-Identifier: Apache-2.0
// The vectors of RFC 4648 section 10, strictness, and UTF-8's edges.
#include "job/base64.h"

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("base64 vectors") {
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : rows) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == std::string(bytes));
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  CHECK(base64_decode(base64_encode(all)) == all);
  for (const char* bad : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zm9v====", "=",
                          "====", "Zg==Zg==", "Zm9v\n", "Zm-v", "Z=g="}) {
    INFO(bad);
    CHECK_FALSE(base64_decode(bad));
  }
}

TEST_CASE("UTF-8") {
  for (const char* good :
       {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_utf8(good));
  }
  CHECK(is_utf8(std::string_view("\0", 1)));
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff"}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

}  // namespace
}  // namespace muster
