// SPDX-License-Identifier: Apache-2.0
#include "logs/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster {

namespace {
constexpr size_t kChunk = 64 << 10;

// By the byte order mark at its beginning.
bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}
}  // namespace

bool LineReader::fill() {
  if (ended_) return false;
  buffer_.resize(kChunk);
  at_ = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  buffer_.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (first_ && is_utf16(buffer_)) {
    error_ = EILSEQ;
    buffer_.clear();
  }
  first_ = false;
  ended_ = buffer_.empty();
  return !ended_;
}

std::string LineReader::error_text() const {
  return error_ == EILSEQ
             ? "it is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"
             : std::strerror(error_);
}

std::optional<std::string_view> LineReader::next() {
  line_.clear();
  bool any = false;
  for (;;) {
    if (at_ == buffer_.size() && !fill()) {
      if (!any) return std::nullopt;
      return line_;
    }
    any = true;
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const size_t end = std::min(rest.find('\n'), rest.size());
    const size_t taken = std::min(end, kMaxLine - line_.size());
    line_ += rest.substr(0, taken);
    at_ += taken;
    if (taken < end) return line_;  // full: the rest is the next piece
    if (end == rest.size()) continue;
    ++at_;
    return line_;
  }
}

}  // namespace muster
