// SPDX-License-Identifier: Apache-2.0
// Whether a text holds one of some known values. Searches for all values in one
// pass that skips most bytes (Wu and Manber, 1994): the four bytes at a place
// give the least distance to the next possible value. Refuses nothing: searches
// values shorter than four bytes one by one. Immutable; any thread may use it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class ValueScan {
 public:
  ValueScan() = default;
  // Empty values are found in every text, as find() does.
  explicit ValueScan(std::vector<std::string> values);

  [[nodiscard]] bool finds_in(std::string_view text) const;
  [[nodiscard]] const std::vector<std::string>& values() const {
    return values_;
  }

 private:
  std::vector<std::string> values_;
  size_t window_ = 0;  // bytes of each value that are hashed; 0: one by one
  // By the hash of the last four bytes in the window: how far to go on.
  std::array<uint8_t, 4096> steps_{};
};

}  // namespace muster
