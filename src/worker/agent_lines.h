// SPDX-License-Identifier: Apache-2.0
// LineSplitter: cuts a byte stream into pieces that end at a line end, so that
// lines of different ranks can be interleaved without tearing one. Holds only
// the incomplete last line; one longer than kMaxPiece is cut and marked.
// Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

class LineSplitter {
 public:
  // With its 8-byte time a piece fills a 32 KiB frame.
  static constexpr size_t kMaxPiece = 32 * 1024 - 8;
  // `partial`: the last byte is not the end of a line.
  using Emit = std::function<void(std::string_view bytes, bool partial)>;

  // How many bytes add() takes at most now; never 0.
  [[nodiscard]] size_t space() const { return kMaxPiece - held_.size(); }
  // Emits one piece or none. `bytes` must not be longer than space().
  void add(std::string_view bytes, const Emit& emit);
  [[nodiscard]] bool empty() const { return held_.empty(); }
  // Gives up the incomplete line.
  std::string take_rest();

 private:
  std::string held_;
};

}  // namespace muster
