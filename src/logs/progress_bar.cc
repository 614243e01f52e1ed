// SPDX-License-Identifier: Apache-2.0
#include "logs/progress_bar.h"

namespace muster {

void ProgressBar::feed(std::string_view bytes, int64_t now_ns,
                       const Sink& sink) {
  while (!bytes.empty()) {
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
      tell_waiting(sink);
      sink({held_, false, true});
      held_.clear();
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

void ProgressBar::finish(const Sink& sink) {
  if (after_return_ && !held_.empty()) {
    waiting_ = std::move(held_);
    held_.clear();
  }
  after_return_ = false;
  tell_waiting(sink);
  if (!held_.empty()) sink({held_, false, true});
  held_.clear();
}

void ProgressBar::end_line(const Sink& sink) {
  tell_waiting(sink);
  sink({held_, false, false});
  held_.clear();
}

void ProgressBar::end_state(int64_t now_ns, const Sink& sink) {
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
  sink({waiting_, true, false});
  waiting_.clear();
}

}  // namespace muster
