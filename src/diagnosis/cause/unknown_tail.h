// SPDX-License-Identifier: Apache-2.0
// UnknownTail: the last lines of one writer that match no rule; one of them may
// explain its end. Skips lines that are calm by their level, and those that
// only continue the line before. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class UnknownTail {
 public:
  // Whether to add() it; call it for each line that matches no rule, in order.
  // The line stays until take().
  bool may_count(const LineEvidence& line);
  void add(Candidate candidate);
  // Moves to `out` those near the writer's last line, `last`, and not before
  // `went_on`, with which the program went on; both as Candidate::order.
  void take(size_t last, size_t went_on, std::vector<Candidate>& out);

 private:
  bool goes_on_calmly(const LineEvidence& line);
  bool is_wrapped(const LineEvidence& line);

  static constexpr int64_t kLongAgo = INT64_MIN / 2;

  std::deque<Candidate> lines_;
  std::string_view last_text_;
  int64_t last_ns_ = kLongAgo;
  int64_t calm_ns_ = kLongAgo;  // of a line no worse than a warning
};

}  // namespace muster
