// SPDX-License-Identifier: Apache-2.0
// LineTail: the last lines of one stream, cut to what evidence needs. A ring
// whose strings are used again: every line of a job passes through one. Most of
// a frame's lines are pushed out again by later ones of the same frame: they
// are borrowed, and only what is left at its end is copied.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

class LineTail {
 public:
  LineTail(size_t lines, bool is_stderr)
      : limit_(lines), is_stderr_(is_stderr) {}

  void keep(std::string_view line, int64_t time_ns) {
    borrow(line, time_ns);
    copy(ring_[newest_]);
  }
  // `line` stays where it is until copy_borrowed().
  void borrow(std::string_view line, int64_t time_ns);
  void copy_borrowed();
  // Puts them behind those in `out`, oldest first.
  void append_to(std::vector<LineEvidence>& out) const;

 private:
  struct Slot {
    LineEvidence kept;
    std::string_view borrowed;
    bool is_borrowed = false;
  };

  static void copy(Slot& slot);

  size_t limit_;
  bool is_stderr_;
  std::vector<Slot> ring_;
  size_t newest_ = 0;
};

}  // namespace muster
