// SPDX-License-Identifier: Apache-2.0
#include "logs/line_splitter.h"

#include <random>
#include <vector>

#include "catch.h"

using namespace muster;

namespace {

struct Told {
  std::string text;
  bool progress;
  bool operator==(const Told&) const = default;
};

struct Collector {
  std::vector<Told> told;
  LineSplitter::Sink sink = [this](const LineSplitter::Piece& piece) {
    told.push_back({std::string(piece.text), piece.progress});
  };
};

}  // namespace

TEST_CASE("a bar tells one state per interval and its last one") {
  LineSplitter splitter(100);
  Collector out;
  for (int i = 0; i <= 100; ++i) {
    splitter.feed("\r" + std::to_string(i) + "%", i, out.sink);
  }
  splitter.feed("\ndone\n", 101, out.sink);
  CHECK(out.told.size() <= 4);
  CHECK(out.told.front() == Told{"0%", true});
  CHECK(out.told[out.told.size() - 2] == Told{"100%", false});
  CHECK(out.told.back() == Told{"done", false});
}

TEST_CASE("a clock that is set back does not silence a bar") {
  LineSplitter splitter(100);
  Collector out;
  for (const int64_t now : {999'999, 1'000'000, 500, 601}) {
    splitter.feed("\r" + std::to_string(now) + " B", now, out.sink);
  }
  CHECK(out.told == std::vector<Told>{{"999999 B", true},
                                      {"1000000 B", true},
                                      {"500 B", true}});
}

TEST_CASE("CRLF is a line end, also when it comes in two pieces") {
  LineSplitter splitter(0);
  Collector out;
  splitter.feed("a\r\nb\r", 0, out.sink);
  splitter.feed("\nc", 1, out.sink);
  splitter.finish(out.sink);
  CHECK(out.told ==
        std::vector<Told>{{"a", false}, {"b", false}, {"c", false}});
}

TEST_CASE("lines without bars come out as they went in, in any pieces") {
  std::minstd_rand random(1);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "line " + std::to_string(i) + "\n";
  LineSplitter splitter(1000);
  Collector out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = 1 + random() % 50;
    splitter.feed(std::string_view(text).substr(at, length), 0, out.sink);
    at += length;
  }
  splitter.finish(out.sink);
  std::string again;
  for (const Told& one : out.told) {
    CHECK_FALSE(one.progress);
    again += one.text + "\n";
  }
  CHECK(again == text);
}

TEST_CASE("a line without an end is cut, not kept") {
  LineSplitter splitter(0);
  Collector out;
  const std::string huge(3 * LineSplitter::kMaxLine + 5, 'x');
  splitter.feed(huge, 0, out.sink);
  splitter.finish(out.sink);
  size_t total = 0;
  for (const Told& one : out.told) {
    total += one.text.size();
  }
  CHECK(total == huge.size());
}

TEST_CASE("a cut line says that more follows, and is cut between characters") {
  LineSplitter splitter(0);
  std::string huge;
  while (huge.size() < 2 * LineSplitter::kMaxLine + 9) huge += "a\u20ac";
  std::string again;
  int lines = 0;
  const LineSplitter::Sink sink = [&](const LineSplitter::Piece& piece) {
    again += piece.text;
    if (!piece.more) ++lines;
    CHECK((static_cast<unsigned char>(piece.text.front()) & 0xc0) != 0x80);
  };
  for (size_t at = 0; at < huge.size(); at += 1000) {
    splitter.feed(std::string_view(huge).substr(at, 1000), 0, sink);
  }
  splitter.feed("\nnext\n", 0, sink);
  CHECK(again == huge + "next");
  CHECK(lines == 2);
}

// Half of a secret is not known as one.
TEST_CASE("a line is cut beside a secret, not within it") {
  for (const std::string secret :
       {"ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6",
        "Authorization: Bearer aB3dE6gH9jK2mN5pQ8sT", "--password hunter2x",
        "\"token\": \"aB3dE6gH9jK2\"", "-----BEGIN RSA PRIVATE KEY-----MII"}) {
    for (size_t before = 1; before < secret.size(); ++before) {
      LineSplitter splitter(0);
      std::string line(LineSplitter::kMaxLine - before - 9, 'x');
      line += " of text " + secret + " and so on\n";
      std::string all;
      bool whole = false;
      splitter.feed(line, 0, [&](const LineSplitter::Piece& piece) {
        all += piece.text;
        whole |= piece.text.find(secret) != std::string_view::npos;
      });
      CHECK(whole);
      CHECK(all + "\n" == line);
    }
  }
}

// As tqdm draws a bar within a bar, and wipes the inner one out at its end.
TEST_CASE("nested bars are states, not a line for each drawing") {
  std::string drawn = "\repoch:  0%";
  for (int step = 0; step <= 100; ++step) {
    drawn += "\n\rstep: " + std::to_string(step) + "%\x1b[A";
  }
  drawn += "\n\r          \x1b[A\r          \repoch 0 done\n";
  for (const size_t length : {size_t{1}, size_t{7}, drawn.size()}) {
    LineSplitter splitter(1000);
    Collector out;
    for (size_t at = 0; at < drawn.size(); at += length) {
      splitter.feed(std::string_view(drawn).substr(at, length), 0, out.sink);
    }
    CHECK(out.told == std::vector<Told>{{"epoch:  0%", false},
                                        {"step: 0%", true},
                                        {"step: 100%", true},
                                        {"epoch 0 done", false}});
  }
}

TEST_CASE("backspaces and erased lines around a state are not told") {
  LineSplitter splitter(0);
  Collector out;
  splitter.feed("\b\b\b\b\r1/2 [=>.]\b\b\b\b\r2/2 [==>]\n", 0, out.sink);
  splitter.feed("\x1b[2K\r  \x1b[1A\x1b[2K50 %\r\x1b[K\r\n", 1, out.sink);
  CHECK(out.told == std::vector<Told>{{"1/2 [=>.]", true},
                                      {"2/2 [==>]", false},
                                      {"50 %", true},
                                      {"\x1b[K", false}});
}

TEST_CASE("a line that ends in a capital A is a line") {
  LineSplitter splitter(0);
  Collector out;
  splitter.feed("DNA\n[A\n\x1b[31mA\n", 0, out.sink);
  CHECK(out.told ==
        std::vector<Told>{{"DNA", false}, {"[A", false}, {"\x1b[31mA", false}});
}
