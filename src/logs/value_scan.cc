// SPDX-License-Identifier: Apache-2.0
#include "logs/value_scan.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {

namespace {

constexpr size_t kHashed = 4;
constexpr size_t kWidest = 200;  // a step fits into a byte

size_t slot_of(const char* bytes) {
  uint32_t four = 0;
  std::memcpy(&four, bytes, sizeof four);
  return four * 0x9e3779b1U >> 20U;
}

}  // namespace

ValueScan::ValueScan(std::vector<std::string> values)
    : values_(std::move(values)) {
  if (values_.empty()) return;
  size_t shortest = kWidest;
  for (const std::string& value : values_) {
    shortest = std::min(shortest, value.size());
  }
  if (shortest < kHashed) return;
  window_ = shortest;
  steps_.fill(static_cast<uint8_t>(window_ - kHashed + 1));
  for (const std::string& value : values_) {
    for (size_t end = kHashed; end <= window_; ++end) {
      uint8_t& step = steps_[slot_of(value.data() + end - kHashed)];
      step = std::min(step, static_cast<uint8_t>(window_ - end));
    }
  }
}

bool ValueScan::finds_in(std::string_view text) const {
  if (values_.empty()) return false;
  if (window_ == 0) {
    return std::any_of(values_.begin(), values_.end(), [text](auto& value) {
      return text.find(value) != std::string_view::npos;
    });
  }
  for (size_t end = window_; end <= text.size();) {
    const size_t step = steps_[slot_of(text.data() + end - kHashed)];
    if (step == 0) {
      const std::string_view rest = text.substr(end - window_);
      for (const std::string& value : values_) {
        if (rest.starts_with(value)) return true;
      }
    }
    end += std::max<size_t>(step, 1);
  }
  return false;
}

}  // namespace muster
