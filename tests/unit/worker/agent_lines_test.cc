// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_lines.h"

#include <random>
#include <utility>
#include <vector>

#include "catch.h"

using muster::LineSplitter;

namespace {

using Pieces = std::vector<std::pair<std::string, bool>>;

LineSplitter::Emit into(Pieces& pieces) {
  return [&pieces](std::string_view bytes, bool partial) {
    pieces.emplace_back(bytes, partial);
  };
}

}  // namespace

TEST_CASE("LineSplitter holds an incomplete line") {
  LineSplitter lines;
  Pieces pieces;
  lines.add("a", into(pieces));
  CHECK(pieces.empty());
  lines.add("b\nc\nd", into(pieces));
  CHECK(pieces == Pieces{{"ab\nc\n", false}});
  CHECK(lines.take_rest() == "d");
  CHECK(lines.empty());
}

TEST_CASE("LineSplitter cuts a line that is too long and says so") {
  LineSplitter lines;
  Pieces pieces;
  lines.add("x", into(pieces));
  lines.add(std::string(lines.space(), 'y'), into(pieces));
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].second);
  CHECK(pieces[0].first.size() == LineSplitter::kMaxPiece);
  CHECK(lines.space() == LineSplitter::kMaxPiece);
}

TEST_CASE("LineSplitter loses nothing, whatever the cuts") {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += std::string(random() % 200, 'a') + "\n";
  }
  LineSplitter lines;
  Pieces pieces;
  size_t at = 0;
  while (at < text.size()) {
    const size_t n = std::min(
        {size_t{1} + random() % 5000, lines.space(), text.size() - at});
    lines.add(std::string_view(text).substr(at, n), into(pieces));
    at += n;
  }
  std::string joined;
  for (const auto& [piece, partial] : pieces) {
    CHECK_FALSE(partial);
    CHECK(piece.back() == '\n');
    joined += piece;
  }
  CHECK(joined + lines.take_rest() == text);
}
