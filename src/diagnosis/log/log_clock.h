// SPDX-License-Identifier: Apache-2.0
// LogClock: the order in which the lines of a bare log were written, if they
// have times. kubectl logs shows one pod after the other, and cat one rank's
// file after the other: there a victim's last lines may stand above the cause.
// Compares times on one clock of the log only (the log tool's in front of a
// line, a logger's in brackets, PyTorch's "E1121 10:02:14.1"); a line without
// one stands behind the line before it of the same writer, or, if no tag names
// its writer, behind the line before it in the log. Refuses: an order if few
// lines have a time, or times half a year apart. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "logs/line_origin.h"

namespace muster {

class LogClock {
 public:
  static constexpr size_t kClocks = 3;
  static constexpr int64_t kUnknown = -1;
  // The time of a line on each clock, its own or an earlier line's.
  using Times = std::array<int64_t, kClocks>;

  // `writer` is empty if unknown.
  Times times_of(const std::string& writer, const ParsedLine& line);

  struct Line {
    int64_t line_ns = 0;  // its place in the log
    Times times = {};
  };
  // New places for `lines`, which must be in the order of the log; the old ones
  // if no clock gives a better order. Neighbours stay as near as they were.
  [[nodiscard]] std::vector<int64_t> places(
      const std::vector<Line>& lines) const;

 private:
  Times last_ = unknown();
  std::map<std::string, Times> last_of_;  // by writer
  std::array<size_t, kClocks> told_ = {};

  static Times unknown() { return {kUnknown, kUnknown, kUnknown}; }
};

}  // namespace muster
