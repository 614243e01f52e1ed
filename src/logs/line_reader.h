// SPDX-License-Identifier: Apache-2.0
// LineReader: lines of a descriptor, one by one, in bounded memory: a line
// longer than kMaxLine is cut and says so. Blocking; EINTR is retried.
// Refuses: UTF-16, as PowerShell writes what is redirected to a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

class LineReader {
 public:
  static constexpr size_t kMaxLine = 256 << 10;

  // The caller owns `fd`.
  explicit LineReader(int fd) : fd_(fd) {}

  // Without its newline; valid until the next call. Nothing at the end, or
  // after an error (see error()).
  std::optional<std::string_view> next();
  [[nodiscard]] int error() const { return error_; }  // errno; 0: none
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] bool was_cut() const { return cut_; }

 private:
  bool fill();

  int fd_;
  int error_ = 0;
  bool cut_ = false;
  bool ended_ = false;
  bool first_ = true;  // nothing was read yet
  std::string buffer_;
  size_t at_ = 0;
  std::string line_;
};

}  // namespace muster
