// SPDX-License-Identifier: Apache-2.0
// A rank's bytes in reads of any size: every byte comes out once, in order, in
// pieces that fit a frame and end at a line's end, unless a line is too long.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "worker/processes/line_buffer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using muster::LineBuffer;
  if (size < 2) return 0;
  // The first two bytes say how large the reads are.
  const size_t step = (data[0] | data[1] << 8U) + size_t{1};
  // Repeated, so that lines longer than a piece are met as well.
  std::string text;
  for (int i = 0; i < 3000 && text.size() < 200'000; ++i) {
    text.append(reinterpret_cast<const char*>(data + 2), size - 2);
  }
  std::string out;
  LineBuffer buffer;
  for (size_t at = 0; at < text.size();) {
    const std::span<char> room = buffer.room();
    const size_t take = std::min({step, room.size(), text.size() - at});
    if (take == 0) std::abort();
    std::memcpy(room.data(), text.data() + at, take);
    at += take;
    const auto piece = buffer.add(take);
    if (!piece) continue;
    const std::string_view bytes = *piece;
    if (bytes.empty() || bytes.size() > LineBuffer::kMaxPiece) std::abort();
    // Only a line that no piece can hold is cut.
    if (bytes.back() != '\n' && bytes.find('\n') != bytes.npos) std::abort();
    out += bytes;
  }
  out += buffer.take_rest();
  if (out != text || !buffer.empty()) std::abort();
  return 0;
}
