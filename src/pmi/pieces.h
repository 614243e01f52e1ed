// SPDX-License-Identifier: Apache-2.0
// Bulk data in pieces: the kModexData frames after a FenceCall or ModexReply.
// Refuses more bytes than announced, and announcements above the limit. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/modex_messages.h"

namespace muster {

// Of one fence or get, all nodes together. 65,536 ranks of Open MPI over UCX
// need about 70 MB.
constexpr uint64_t kMostModexBytes = 512ULL << 20;

class PieceCollector {
 public:
  explicit PieceCollector(uint64_t announced) : announced_(announced) {}
  [[nodiscard]] bool acceptable() const {
    return announced_ <= kMostModexBytes;
  }
  // false: more than announced; nothing was taken.
  [[nodiscard]] bool add(std::string_view piece) {
    if (data_.size() + piece.size() > announced_) return false;
    if (data_.empty()) data_.reserve(static_cast<size_t>(announced_));
    data_.append(piece);
    return true;
  }
  [[nodiscard]] bool complete() const { return data_.size() == announced_; }
  std::string take() { return std::move(data_); }

 private:
  uint64_t announced_;
  std::string data_;
};

// Calls `each(piece)` for consecutive parts of `data`; not at all if empty.
template <class Each>
void for_each_piece(std::string_view data, Each each) {
  for (size_t at = 0; at < data.size(); at += wire::kModexPiece) {
    each(data.substr(at, wire::kModexPiece));
  }
}

}  // namespace muster
