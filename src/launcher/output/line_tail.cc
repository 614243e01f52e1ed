// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_tail.h"

namespace muster {

namespace {

constexpr size_t kLineLength = 400;

}  // namespace

void LineTail::keep(std::string_view line, int64_t time_ns) {
  if (lines_.size() < limit_) {
    newest_ = lines_.size();
    lines_.emplace_back();
  } else {
    newest_ = (newest_ + 1) % limit_;
  }
  LineEvidence& kept = lines_[newest_];
  kept.time_ns = time_ns;
  kept.stderr_stream = is_stderr_;
  kept.text.assign(line.substr(0, kLineLength));
}

void LineTail::append_to(std::vector<LineEvidence>& out) const {
  const size_t size = lines_.size();
  for (size_t i = 0; i < size; ++i) {
    out.push_back(lines_[(newest_ + 1 + i) % size]);
  }
}

}  // namespace muster
