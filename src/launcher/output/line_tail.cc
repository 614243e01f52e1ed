// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_tail.h"

namespace muster {

namespace {

std::string_view cut(std::string_view line) {
  constexpr size_t kLineLength = 400;
  return line.substr(0, kLineLength);
}

}  // namespace

void LineTail::borrow(std::string_view line, int64_t time_ns) {
  if (ring_.size() < limit_) {
    newest_ = ring_.size();
    ring_.emplace_back();
    ring_[newest_].kept.stderr_stream = is_stderr_;
  } else if (++newest_ == limit_) {
    newest_ = 0;
  }
  Slot& slot = ring_[newest_];
  slot.kept.time_ns = time_ns;
  slot.borrowed = line;
  slot.is_borrowed = true;
}

void LineTail::copy_borrowed() {
  for (Slot& slot : ring_) {
    if (slot.is_borrowed) copy(slot);
  }
}

void LineTail::copy(Slot& slot) {
  slot.kept.text.assign(cut(slot.borrowed));
  slot.is_borrowed = false;
}

void LineTail::append_to(std::vector<LineEvidence>& out) const {
  const size_t size = ring_.size();
  for (size_t i = 0; i < size; ++i) {
    const Slot& slot = ring_[(newest_ + 1 + i) % size];
    out.push_back(slot.kept);
    if (slot.is_borrowed) out.back().text = cut(slot.borrowed);
  }
}

}  // namespace muster
