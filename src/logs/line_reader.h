// SPDX-License-Identifier: Apache-2.0
// LineReader: lines of a descriptor, one by one, in bounded memory: a line
// longer than kMaxLine comes in pieces of that size. Blocking; retries EINTR.
// Refuses, in a file that is read back: UTF-16, as PowerShell writes redirected
// output. A program may print anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

class LineReader {
 public:
  static constexpr size_t kMaxLine = 256 << 10;

  enum class From { kFile, kProgram };

  // The caller owns `fd`.
  LineReader(int fd, From from) : fd_(fd), first_(from == From::kFile) {}

  // Without its newline; valid until the next call. Nothing at the end, or
  // after an error (see error()).
  std::optional<std::string_view> next();
  // The whole next line is there: next() will not wait for it.
  [[nodiscard]] bool has_line() const {
    return buffer_.find('\n', at_) != std::string::npos;
  }
  [[nodiscard]] int error() const { return error_; }  // errno; 0: none
  [[nodiscard]] std::string error_text() const;

 private:
  bool fill();

  int fd_;
  int error_ = 0;
  bool ended_ = false;
  bool first_;  // of a file nothing was read yet
  std::string buffer_;
  size_t at_ = 0;
  std::string line_;
};

}  // namespace muster
