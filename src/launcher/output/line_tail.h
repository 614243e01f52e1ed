// SPDX-License-Identifier: Apache-2.0
// LineTail: what a verdict may need of one stream: its last lines, and the
// first and the last of those that look like trouble, with a few behind each,
// which hundreds of lines of a stack may follow. All are cut; blank ones are
// left out. The last lines are a ring whose strings are used again: every line
// of a job passes through one. Most of a frame's lines are pushed out again by
// later ones of the same frame: they are borrowed, and only what is left at its
// end is copied. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

class LineTail {
 public:
  LineTail(size_t lines, bool is_stderr)
      : limit_(lines), is_stderr_(is_stderr) {}

  void keep(std::string_view line, int64_t time_ns) {
    if (borrow(line, time_ns)) copy(ring_[newest_]);
  }
  // `line` stays where it is until copy_borrowed(). False: it is blank.
  bool borrow(std::string_view line, int64_t time_ns);
  // The newest line looks like trouble; a few behind it may say what.
  void mark_trouble() { follow_ = 1 + kFollowing; }
  void copy_borrowed();
  // Puts them behind those in `out`, oldest first.
  void append_to(std::vector<LineEvidence>& out) const;

 private:
  static constexpr int kFollowing = 4;
  struct Trouble {
    LineEvidence kept;
    uint64_t number = 0;
  };
  struct Slot {
    LineEvidence kept;
    std::string_view borrowed;
    bool is_borrowed = false;
  };

  static void copy(Slot& slot);
  void keep_trouble();

  size_t limit_;
  bool is_stderr_;
  std::vector<Slot> ring_;
  size_t newest_ = 0;
  uint64_t count_ = 0;  // lines so far
  int follow_ = 0;      // lines still to keep as trouble
  std::vector<Trouble> first_;
  std::deque<Trouble> last_;
};

}  // namespace muster
