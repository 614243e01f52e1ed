// SPDX-License-Identifier: Apache-2.0
// LineBuffer: holds back text without a line end, so that the pieces of a byte
// stream that leave an agent end with a line, and lines of different ranks can
// be interleaved without tearing one. Bytes are read straight into its room and
// leave from there; behind a piece only the start of the next line stays. Cuts
// a line longer than kMaxPiece; the launcher's LineSplitter joins it. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

class LineBuffer {
 public:
  // With its 8-byte time a piece fills a 32 KiB frame.
  static constexpr size_t kMaxPiece = 32 * 1024 - 8;

  // Where the next bytes belong; never empty.
  [[nodiscard]] std::span<char> room();
  // Takes the first `count` bytes of room(), `count` > 0. Returns the text that
  // may go: whole lines, or a line that was cut. Valid until the next call.
  std::optional<std::string_view> add(size_t count);
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  // Gives up the incomplete line.
  std::string take_rest();

 private:
  std::unique_ptr<char[]> buffer_;  // kMaxPiece, from the first room() on
  size_t begin_ = 0;                // of what was not given out
  size_t end_ = 0;
};

}  // namespace muster
