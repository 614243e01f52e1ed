// SPDX-License-Identifier: Apache-2.0
// LineTail: what a verdict may need of one stream: its last lines, and of those
// before them the first and the last that look like trouble, by their level or
// because a rule knows them, with a few behind each: hundreds of lines of a
// stack may follow. Every line of a job passes
// through one, so lines are only copied here, and looked at when they are asked
// for. Lines are cut, and blank ones left out.
// Refuses: to hold more than its bytes; the oldest lines go.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/book/rule_book.h"
#include "diagnosis/evidence.h"

namespace muster {

class LineTail {
 public:
  // The last `lines` are given whatever they say; `bytes` hold them, too.
  LineTail(size_t lines, bool is_stderr, size_t bytes)
      : limit_(lines), bytes_(bytes), is_stderr_(is_stderr) {}

  void keep(std::string_view line, int64_t time_ns);
  // Puts them behind those in `out`, oldest first. With `rules` each line is
  // held against all of them, which takes time; null: the level alone tells
  // trouble.
  void append_to(std::vector<LineEvidence>& out,
                 const RuleBook* rules = nullptr) const;

 private:
  size_t limit_;
  size_t bytes_;
  bool is_stderr_;
  std::string kept_;  // of each line its time, its length, its text
  size_t start_ = 0;  // of the oldest in it
};

}  // namespace muster
