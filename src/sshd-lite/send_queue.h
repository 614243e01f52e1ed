// SPDX-License-Identifier: Apache-2.0
// Bytes that wait for a window to open, and the moment when a paused sender may
// go on. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace muster {

class SendQueue {
 public:
  explicit SendQueue(size_t mark) : mark_(mark) {}

  void append(std::string_view bytes) {
    bytes_ += bytes;
    if (size() >= mark_) above_ = true;
  }
  [[nodiscard]] std::string_view front() const {
    return std::string_view(bytes_).substr(sent_);
  }
  [[nodiscard]] size_t size() const { return bytes_.size() - sent_; }
  void consume(size_t count) {
    sent_ += count;
    // Moves the rest only once in a while: erasing at the front copies it all.
    if (sent_ == bytes_.size() || sent_ > mark_) {
      bytes_.erase(0, sent_);
      sent_ = 0;
    }
  }
  // True once after it has been above the mark and is below it again.
  bool take_drained() {
    return above_ && size() < mark_ && std::exchange(above_, false);
  }

 private:
  size_t mark_;
  std::string bytes_;
  size_t sent_ = 0;
  bool above_ = false;
};

}  // namespace muster
