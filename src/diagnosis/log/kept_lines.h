// SPDX-License-Identifier: Apache-2.0
// KeptLines: the lines kept of a log. Of each writer the first and the last
// lines that match a rule, and the last ones that match none. All writers share
// one budget of bytes: when it is used up, each writer may hold less, and those
// that hold the most give up lines. Lines that match no rule go first, then
// those in the middle; of the first lines, those that name no failure. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "diagnosis/evidence.h"
#include "diagnosis/log/log_clock.h"

namespace muster {

class KeptLines {
 public:
  static constexpr size_t kBudget = 24 << 20;
  static constexpr size_t kMaxWriters = 4096;

  struct Line {
    LineEvidence line;
    LogClock::Times times = {};
  };
  enum class Kind {
    kUnknown,  // matches no rule
    kKnown,    // matches one: progress, a frame of a traceback
    kAlarm,    // it names a failure
  };

  explicit KeptLines(size_t budget = kBudget) : budget_(budget) {}

  void add(int writer, Line line, Kind kind);
  // By writer, those of one in the order in which they came.
  [[nodiscard]] std::vector<std::pair<int, Line>> take();
  // With what a line costs besides its text.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    Line line;
    bool alarm = false;
  };
  struct Part {
    std::deque<Kept> lines;
    size_t bytes = 0;
  };
  struct Writer {
    Part first;
    Part last;
    Part unknown;
    bool later = false;  // `first` is complete
    [[nodiscard]] size_t bytes() const {
      return first.bytes + last.bytes + unknown.bytes;
    }
  };

  void push(Part& part, Kept kept);
  void erase(Part& part, std::deque<Kept>::iterator at);
  void drop_one(Writer& writer);
  void trim(Writer& writer);
  void shrink();

  size_t budget_;
  size_t each_ = SIZE_MAX;  // what a writer may hold
  size_t bytes_ = 0;
  std::map<int, Writer> writers_;
};

}  // namespace muster
