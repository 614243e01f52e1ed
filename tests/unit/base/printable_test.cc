// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <string>
#include <vector>

#include "base/log.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::string_literals;

TEST_CASE("text of a peer on one line") {
  struct Row {
    std::string text;
    std::string shown;
  };
  const std::vector<Row> rows = {
      {"plain text", "plain text"},
      {"", ""},
      {"Grüße 東京 🙂", "Grüße 東京 🙂"},
      {"a\nmuster: error: b", "a\\nmuster: error: b"},
      {"a\rb\tc", "a\\rb\\tc"},
      {"\x1b[2J\x1b]0;x\x07", "\\x1b[2J\\x1b]0;x\\x07"},
      {"a\0b"s, "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m \xc2\x85",
       "\\x9b31m \\x85"},  // C1: CSI, NEL
      {"\x9b"
       "31m",
       "\\x9b31m"},                                  // the byte alone
      {"a\xffz\xc3", "a\\xffz\\xc3"},                // not UTF-8; cut off
      {"\xc0\x8a", "\\xc0\\x8a"},                    // overlong newline
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},  // above U+10FFFF
      {"\u202etxt.exe\u2066", "\\u202etxt.exe\\u2066"},
      {"a\u2028b\u200bc\ufeff", "a\\u2028b\\u200bc\\ufeff"},
      {"\U000e0041", "\\U000e0041"}};
  for (const Row& row : rows) {
    CAPTURE(row.shown);
    CHECK(printable_line(row.text, 1000) == row.shown);
    for (size_t limit = 3; limit < row.shown.size() + 2; ++limit) {
      const std::string once = printable_line(row.text, limit);
      CHECK(once.size() <= limit);
      CHECK(printable_line(once, limit) == once);
    }
  }
  CHECK(printable_line("abcdefg", 6) == "abc...");
  CHECK(printable_line("abc", 3) == "abc");
  CHECK(printable_line("aüüü", 6) == "aü...");  // no half of a character
  CHECK(printable_line("ab\n\n\n", 7) == "ab\\n...");
  CHECK(printable_line("\n\n", 3) == "...");
  CHECK(printable_lines("a\x1b\n\nb\r\n") == "a\\x1b\n\nb\\r\n");
}

TEST_CASE("no text in a log line begins a line of its own") {
  std::string told;
  log::configure({});
  log::redirect([&told](const std::string& line) { told += line; });
  log::warn("{}", "it said\nmuster: error: forged\n  code: x\x1b[2K\r");
  log::configure({log::Level::kInfo, true, "launcher", "h"});
  log::warn("{}", "a\nb\x1b\xc2\x9b");
  log::redirect({});
  log::configure({});
  const size_t end = told.find("{");
  CHECK(told.substr(0, end) ==
        "muster: warning: it said\n  muster: error: forged\n"
        "  code: x\\x1b[2K\\r\n");
  CHECK(told.find(R"("message":"a\nb\\x1b\\x9b")") != told.npos);
}

}  // namespace
}  // namespace muster
