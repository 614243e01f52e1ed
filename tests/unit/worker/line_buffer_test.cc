// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/line_buffer.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "catch.h"

using muster::LineBuffer;

namespace {

using Pieces = std::vector<std::string>;

// As reads of any size bring them, as long as they fit.
void add(LineBuffer& lines, std::string_view bytes, Pieces& pieces) {
  const std::span<char> room = lines.room();
  REQUIRE(bytes.size() <= room.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  if (const auto piece = lines.add(bytes.size())) {
    pieces.emplace_back(*piece);
  }
}

}  // namespace

TEST_CASE("LineBuffer holds an incomplete line") {
  LineBuffer lines;
  Pieces pieces;
  CHECK(lines.empty());
  CHECK(lines.take_rest().empty());
  add(lines, "a", pieces);
  CHECK(pieces.empty());
  CHECK_FALSE(lines.empty());
  add(lines, "b\nc\nd", pieces);
  CHECK(pieces == Pieces{"ab\nc\n"});
  CHECK(lines.take_rest() == "d");
  CHECK(lines.empty());
}

TEST_CASE("LineBuffer cuts a line that is too long") {
  LineBuffer lines;
  Pieces pieces;
  add(lines, "x", pieces);
  add(lines, std::string(lines.room().size(), 'y'), pieces);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].size() == LineBuffer::kMaxPiece);
  CHECK(lines.room().size() == LineBuffer::kMaxPiece);
}

TEST_CASE("LineBuffer loses nothing, whatever the cuts") {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += std::string(random() % 200, 'a') + "\n";
  }
  LineBuffer lines;
  Pieces pieces;
  size_t at = 0;
  while (at < text.size()) {
    const size_t n = std::min(
        {size_t{1} + random() % 5000, lines.room().size(), text.size() - at});
    add(lines, std::string_view(text).substr(at, n), pieces);
    at += n;
  }
  std::string joined;
  for (const std::string& piece : pieces) {
    CHECK(piece.back() == '\n');
    joined += piece;
  }
  CHECK(joined + lines.take_rest() == text);
}
