// SPDX-License-Identifier: Apache-2.0
// The last lines of a stream, copied or lent.
#include "launcher/output/line_tail.h"

#include <string>
#include <vector>

#include "catch.h"

namespace muster {
namespace {

std::vector<std::string> texts(const LineTail& tail) {
  std::vector<LineEvidence> lines;
  tail.append_to(lines);
  std::vector<std::string> out;
  for (const LineEvidence& line : lines) out.push_back(line.text);
  return out;
}

using Texts = std::vector<std::string>;

TEST_CASE("the last lines stay, oldest first") {
  LineTail tail(3, true, 4096);
  CHECK(texts(tail).empty());
  for (int i = 0; i < 5; ++i) tail.keep("line " + std::to_string(i), i);
  CHECK(texts(tail) == Texts{"line 2", "line 3", "line 4"});
  std::vector<LineEvidence> lines;
  tail.append_to(lines);
  CHECK(lines.back().time_ns == 4);
  CHECK(lines.back().stderr_stream);
}

TEST_CASE("trouble stays with what follows it, once, and blank lines go") {
  LineTail tail(3, true, 1 << 20);
  tail.keep("loss 1", 1);
  tail.keep("[rank0]:[E1126 01:12:05.356733883 x.cpp:612] it failed", 2);
  CHECK(texts(tail).size() == 2);
  for (int i = 0; i < 100; ++i) tail.keep("frame " + std::to_string(i), 3);
  tail.keep("", 4);
  tail.keep("  \t\r", 4);
  REQUIRE(texts(tail).size() == 8);
  CHECK(texts(tail)[0].ends_with("it failed"));
  CHECK(texts(tail)[4] == "frame 3");
  CHECK(texts(tail)[5] == "frame 97");
  for (int i = 0; i < 1000; ++i) {
    tail.keep("WARNING:root:" + std::to_string(i), 5);
  }
  // The first and the last of many.
  CHECK(texts(tail).front().ends_with("it failed"));
  CHECK(texts(tail).size() == 12 + 20 + 3);
  CHECK(texts(tail).back() == "WARNING:root:999");
}

TEST_CASE("a line that a rule knows is trouble, whatever its level") {
  LineTail tail(3, true, 1 << 20);
  tail.keep("loss 1", 1);
  tail.keep(
      "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1515: "
      "indexSelectSmallIndex: block: [0,0,0], thread: [0,0,0] Assertion "
      "`srcIndex < srcSelectDimSize` failed.",
      2);
  for (int i = 0; i < 100; ++i) tail.keep("frame " + std::to_string(i), 3);
  CHECK(texts(tail).size() == 3);
  std::vector<LineEvidence> lines;
  tail.append_to(lines, &RuleBook::built_in());
  REQUIRE(lines.size() == 8);
  CHECK(lines[0].text.ends_with("srcSelectDimSize` failed."));
}

TEST_CASE("old lines go where there is no room, and long ones are cut") {
  constexpr size_t kRoom = 2000;
  LineTail tail(3, false, kRoom);
  for (int i = 0; i < 10'000; ++i) {
    tail.keep("ERROR: " + std::to_string(i) + std::string(i % 900, 'x'), i);
    size_t bytes = 0;
    for (const std::string& text : texts(tail)) bytes += text.size();
    REQUIRE(bytes <= kRoom);
    REQUIRE(texts(tail).back().size() <= 400);
  }
  CHECK(texts(tail).back().starts_with("ERROR: 9999"));
}

}  // namespace
}  // namespace muster
