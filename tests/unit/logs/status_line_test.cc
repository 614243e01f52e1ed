// SPDX-License-Identifier: Apache-2.0
// What is on the screen after the bytes, by a terminal of one line's memory.
#include "logs/status_line.h"

#include "catch.h"

namespace muster {
namespace {

// Lines that scrolled away, and the one the cursor is in.
struct Screen {
  std::string scrolled;
  std::string last;

  void write(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      if (bytes.compare(at, 4, "\r\x1b[K") == 0) {
        last.clear();
        at += 3;
      } else if (bytes[at] == '\n') {
        scrolled += last + "\n";
        last.clear();
      } else {
        last += bytes[at];
      }
    }
  }
};

TEST_CASE("the bar stays below what scrolls") {
  StatusLine line;
  Screen screen;
  screen.write(line.around("start\n", 80));
  line.set({0, 2}, "[0|w] ", " 10%|#");
  screen.write(line.around("", 80));
  CHECK(screen.last == "[0|w]  10%|#");
  screen.write(line.around("a line\nanother\n", 80));
  CHECK(screen.scrolled == "start\na line\nanother\n");
  CHECK(screen.last == "[0|w]  10%|#");
  line.set({0, 2}, "[0|w] ", " 20%|##");
  line.set({3, 2}, "[3|w] ", " 90%|#########");
  screen.write(line.around("", 80));
  CHECK(screen.last == "[0|w]  20%|## (+1)");
  line.remove({0, 2});
  screen.write(line.around("done\n", 80));
  CHECK(screen.last == "[3|w]  90%|#########");
  screen.write(line.erase());
  CHECK(screen.last.empty());
  CHECK(screen.scrolled == "start\na line\nanother\ndone\n");
}

TEST_CASE("nothing is written where nothing changed") {
  StatusLine line;
  CHECK(line.around("", 80).empty());
  CHECK(line.around("x\n", 80) == "x\n");
  line.set({0, 1}, "", "50%");
  CHECK(line.around("", 80) == "50%");
  line.set({0, 1}, "", "50%");
  CHECK(line.around("", 80).empty());
  CHECK(line.erase() == "\r\x1b[K");
  CHECK(line.erase().empty());
}

TEST_CASE("cut between characters, without colours") {
  StatusLine line;
  line.set({0, 1}, "\x1b[36m[0]\x1b[0m ",
           "\x1b[1A\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\x07");
  CHECK(line.around("", 80) == "[0] \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88");
  CHECK(line.around("", 7) == "\r\x1b[K[0] \xe2\x96\x88\xe2\x96\x88");
  line.set({1, 1}, "", "x");
  CHECK(line.around("", 5) == "\r\x1b[K");
}

}  // namespace
}  // namespace muster
