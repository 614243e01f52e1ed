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
  LineTail tail(3, true);
  CHECK(texts(tail).empty());
  for (int i = 0; i < 5; ++i) tail.keep("line " + std::to_string(i), i);
  CHECK(texts(tail) == Texts{"line 2", "line 3", "line 4"});
  std::vector<LineEvidence> lines;
  tail.append_to(lines);
  CHECK(lines.back().time_ns == 4);
  CHECK(lines.back().stderr_stream);
}

TEST_CASE("trouble stays with what follows it, once, and blank lines go") {
  LineTail tail(3, true);
  tail.keep("loss 1", 1);
  tail.mark_trouble();
  tail.keep("an error", 2);
  CHECK(texts(tail) == Texts{"loss 1", "an error"});
  for (int i = 0; i < 100; ++i) tail.keep("frame " + std::to_string(i), 3);
  tail.keep("", 4);
  tail.keep("  \t\r", 4);
  CHECK(texts(tail) == Texts{"an error", "frame 0", "frame 1", "frame 2",
                             "frame 3", "frame 97", "frame 98", "frame 99"});
  for (int i = 0; i < 1000; ++i) {
    tail.mark_trouble();
    tail.keep("warning " + std::to_string(i), 5);
  }
  // The first and the last of many.
  CHECK(texts(tail).front() == "an error");
  CHECK(texts(tail).size() == 12 + 17 + 3);
  CHECK(texts(tail).back() == "warning 999");
}

TEST_CASE("a borrowed line is the tail's own once it was copied") {
  LineTail tail(3, false);
  std::string frame = "one two six";
  tail.keep("zero", 1);
  tail.borrow(std::string_view(frame).substr(0, 3), 2);
  tail.borrow(std::string_view(frame).substr(4, 3), 2);
  CHECK(texts(tail) == Texts{"zero", "one", "two"});
  tail.borrow(std::string_view(frame).substr(8), 2);
  tail.copy_borrowed();
  frame.assign(frame.size(), '?');
  CHECK(texts(tail) == Texts{"one", "two", "six"});
  tail.keep("masked", 3);
  CHECK(texts(tail) == Texts{"two", "six", "masked"});
}

TEST_CASE("a long line is cut, however it came") {
  const std::string line(1000, 'x');
  LineTail tail(2, false);
  tail.keep(line, 1);
  tail.borrow(line, 2);
  CHECK(texts(tail) == Texts{line.substr(0, 400), line.substr(0, 400)});
  tail.copy_borrowed();
  CHECK(texts(tail) == Texts{line.substr(0, 400), line.substr(0, 400)});
}

}  // namespace
}  // namespace muster
