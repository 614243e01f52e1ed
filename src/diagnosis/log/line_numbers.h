// SPDX-License-Identifier: Apache-2.0
// LineNumbers: whether "[1780] …", "[1781] …" count a log's lines, as a viewer
// does, and are not ranks: each of the first lines is one more than the line
// before it. Ranks, too, may write one line each in their order, from 0 on. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

class LineNumbers {
 public:
  // Until decided: the log's next line.
  void look(std::string_view line);
  [[nodiscard]] bool decided() const { return state_ != State::kLooking; }
  // Without its number, if lines have one.
  [[nodiscard]] std::string_view strip(std::string_view line) const;

 private:
  enum class State { kLooking, kNumbered, kPlain };
  State state_ = State::kLooking;
  int first_ = 0;
  int last_ = 0;
  size_t lines_ = 0;
};

}  // namespace muster
