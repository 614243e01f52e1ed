// SPDX-License-Identifier: Apache-2.0
// LineTail: the last lines of one stream, cut to what evidence needs. A ring
// whose strings are used again: every line of a job passes through one.
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

  void keep(std::string_view line, int64_t time_ns);
  // Puts them behind those in `out`, oldest first.
  void append_to(std::vector<LineEvidence>& out) const;

 private:
  size_t limit_;
  bool is_stderr_;
  std::vector<LineEvidence> lines_;
  size_t newest_ = 0;
};

}  // namespace muster
