// SPDX-License-Identifier: Apache-2.0
// UnknownTail: the last lines of one writer that no rule knows, of which one
// may be its last word. Leaves out what is calm by its level, and what only
// goes on with the line before. Pure.
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
  // Whether to add() it; asked of each line that no rule knows, in order. The
  // line stays until take().
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
