// SPDX-License-Identifier: Apache-2.0
#include "logs/progress_bar.h"

namespace muster {

void ProgressBar::feed(std::string_view bytes, int64_t now_ns,
                       const Sink& sink) {
  // Asked once, not for each of the many lines that have none.
  const bool plain = bytes.find('\r') == std::string_view::npos;
  while (!bytes.empty()) {
    if (whole_line(bytes, plain, sink)) continue;
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        end_line(sink);
        continue;
      }
      end_state(now_ns, sink);
    }
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view text = bytes.substr(0, end);
    const size_t room = kMaxLine - held_.size();
    if (text.size() > room) {
      held_.append(text.substr(0, room));
      cut_line(text[room], sink);
      bytes.remove_prefix(room);
      continue;
    }
    held_.append(text);
    if (end == std::string_view::npos) return;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!after_return_) end_line(sink);
  }
}

// The usual case without a copy: a whole line, with nothing held before it.
bool ProgressBar::whole_line(std::string_view& bytes, bool plain,
                             const Sink& sink) {
  if (after_return_ || within_ || !held_.empty()) return false;
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos || end > kMaxLine) return false;
  const std::string_view line = bytes.substr(0, end);
  if (!plain && line.find('\r') != std::string_view::npos) return false;
  tell_waiting(sink);
  sink({line, false, false, false});
  bytes.remove_prefix(end + 1);
  return true;
}

void ProgressBar::finish(const Sink& sink) {
  if (after_return_ && !held_.empty() && !within_) {
    waiting_ = std::move(held_);
    held_.clear();
  }
  after_return_ = false;
  tell_waiting(sink);
  if (!held_.empty() || within_) sink({held_, false, true, false});
  within_ = false;
  held_.clear();
}

// Cuts what is held, which `next` follows, but never within a UTF-8 character.
void ProgressBar::cut_line(char next, const Sink& sink) {
  size_t end = held_.size();
  const auto inside = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  for (int i = 0; i < 3 && inside(next); ++i) next = held_[--end];
  if (inside(next)) end = held_.size();  // no UTF-8 anyway
  tell_waiting(sink);
  sink({std::string_view(held_).substr(0, end), false, true, true});
  held_.erase(0, end);
  within_ = true;
}

void ProgressBar::end_line(const Sink& sink) {
  tell_waiting(sink);
  sink({held_, false, false, false});
  held_.clear();
  within_ = false;
}

void ProgressBar::end_state(int64_t now_ns, const Sink& sink) {
  if (within_) {
    end_line(sink);
    return;
  }
  if (held_.empty()) return;  // "\r" before the first state
  waiting_.swap(held_);
  held_.clear();
  if (told_any_ && now_ns - told_ns_ < interval_ns_) return;
  told_any_ = true;
  told_ns_ = now_ns;
  tell_waiting(sink);
}

void ProgressBar::tell_waiting(const Sink& sink) {
  if (waiting_.empty()) return;
  sink({waiting_, true, false, false});
  waiting_.clear();
}

}  // namespace muster
