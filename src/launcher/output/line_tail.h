// SPDX-License-Identifier: Apache-2.0
// LineTail: the lines of one stream that a verdict may need: its last lines,
// and of those before them the first and the last that look like trouble, by
// their level or because a rule knows them, with a few behind each: hundreds of
// lines of a stack may follow. Every line of a job passes through one, so it
// only copies lines, and examines them on request. Cuts long lines and skips
// blank ones. Refuses: to hold more than its bytes; the oldest lines go. Pure.
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
  // Puts them behind those in `out`, oldest first. With `rules` it tries all of
  // them on each line, which takes time; null: only the level shows trouble.
  void append_to(std::vector<LineEvidence>& out,
                 const RuleBook* rules = nullptr) const;

  // Only the last ones, oldest first.
  void append_newest(std::vector<LineEvidence>& out) const;

 private:
  struct Line {
    int64_t time_ns;
    std::string_view text;
  };
  [[nodiscard]] std::vector<Line> lines() const;
  void append(const Line& line, std::vector<LineEvidence>& out) const;

  size_t limit_;
  size_t bytes_;
  bool is_stderr_;
  std::string kept_;  // each line's time, length and text
  size_t start_ = 0;  // of the oldest in it
};

}  // namespace muster
