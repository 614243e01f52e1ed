// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/line_buffer.h"

#include <cstring>

namespace muster {

std::span<char> LineBuffer::room() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kMaxPiece);
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.get() + end_, kMaxPiece - end_};
}

std::optional<std::string_view> LineBuffer::add(size_t count) {
  const std::string_view fresh(buffer_.get() + end_, count);
  const size_t newline = fresh.rfind('\n');
  const bool whole = newline != std::string_view::npos;
  const size_t end = whole ? end_ + newline + 1 : end_ + count;
  end_ += count;
  if (!whole && end_ < kMaxPiece) return std::nullopt;
  const std::string_view piece(buffer_.get() + begin_, end - begin_);
  begin_ = end;
  return piece;
}

std::string LineBuffer::take_rest() {
  std::string rest(buffer_.get() + begin_, end_ - begin_);
  begin_ = end_ = 0;
  return rest;
}

}  // namespace muster
