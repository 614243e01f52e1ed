// SPDX-License-Identifier: Apache-2.0
// Keeps lines of one message together: Python tracebacks and native stack
// dumps, per rank and stream. A pure state machine; time is the lines' own.
#pragma once

#include <cstdint>
#include <string_view>

#include "logs/level.h"

namespace muster {

class LineGrouper {
 public:
  enum class Step {
    kAlone,      // a line for itself
    kOpens,      // first of a group
    kContinues,  // in the middle
    kCloses,     // last one: the group is complete
  };

  // Lines of one stream in their order. After kGroupGapNs of silence, or
  // kMaxGroupLines lines, a group ends by itself.
  Step next(std::string_view line, int64_t time_ns);
  [[nodiscard]] bool open() const { return kind_ != Kind::kNone; }

  static constexpr int64_t kGroupGapNs = 200'000'000;
  static constexpr int kMaxGroupLines = 500;

 private:
  enum class Kind { kNone, kPython, kStackDump, kFaulthandler };

  Kind kind_ = Kind::kNone;
  int lines_ = 0;
  int64_t last_ns_ = 0;
};

// The line without the mark that PyTorch and torchrun put in front of each line
// of a traceback: "[rank3]: ", "[default3]:".
std::string_view without_rank_mark(std::string_view line);

// The level of a line at `step` whose own level is `own`: all lines of a group
// are at least errors, like its last one, so that filters keep or drop them
// together.
LogLevel level_at(LineGrouper::Step step, LogLevel own);

}  // namespace muster
