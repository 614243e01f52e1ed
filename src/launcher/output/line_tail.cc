// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_tail.h"

#include <utility>

namespace muster {

namespace {

std::string_view cut(std::string_view line) {
  constexpr size_t kLineLength = 400;
  return line.substr(0, kLineLength);
}

}  // namespace

bool LineTail::borrow(std::string_view line, int64_t time_ns) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return false;
  ++count_;
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
  if (follow_ > 0) keep_trouble();
  return true;
}

void LineTail::keep_trouble() {
  constexpr size_t kFirst = 12;
  constexpr size_t kLast = 20;
  --follow_;
  const Slot& slot = ring_[newest_];
  Trouble trouble{slot.kept, count_};
  if (slot.is_borrowed) trouble.kept.text.assign(cut(slot.borrowed));
  if (first_.size() < kFirst) {
    first_.push_back(std::move(trouble));
    return;
  }
  if (last_.size() == kLast) last_.pop_front();
  last_.push_back(std::move(trouble));
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
  const auto add = [&](const auto& troubles) {
    for (const Trouble& one : troubles) {
      if (one.number + size <= count_) out.push_back(one.kept);
    }
  };
  add(first_);
  add(last_);
  for (size_t i = 0; i < size; ++i) {
    const Slot& slot = ring_[(newest_ + 1 + i) % size];
    out.push_back(slot.kept);
    if (slot.is_borrowed) out.back().text = cut(slot.borrowed);
  }
}

}  // namespace muster
