// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/line_numbers.h"

#include <optional>

#include "logs/mark_scan.h"

namespace muster {

namespace {

// "[1780] ", "1780: " and "  1780  ", as from cat -n.
std::optional<int> take_line_number(std::string_view& line) {
  std::string_view rest = line;
  marks::take_blanks(rest);
  const bool bracket = marks::take_word(rest, "[");
  const auto number = marks::take_number(rest);
  if (!number) return std::nullopt;
  if (!bracket && (rest.starts_with("  ") || rest.starts_with('\t'))) {
    line = rest.substr(rest.front() == '\t' ? 1 : 2);
    return number;
  }
  if (!marks::take_word(rest, bracket ? "]" : ":")) return std::nullopt;
  if (!rest.empty() && !marks::take_word(rest, " ")) return std::nullopt;
  line = rest;
  return number;
}

}  // namespace

void LineNumbers::look(std::string_view line) {
  constexpr size_t kEnough = 8;
  constexpr size_t kManyRanks = 64;
  const auto number = take_line_number(line);
  if (!number || (lines_ > 0 && *number != last_ + 1)) {
    state_ = State::kPlain;
    return;
  }
  if (lines_++ == 0) first_ = *number;
  last_ = *number;
  if (lines_ >= (first_ == 0 ? kManyRanks : kEnough)) state_ = State::kNumbered;
}

std::string_view LineNumbers::strip(std::string_view line) const {
  if (state_ == State::kNumbered) take_line_number(line);
  return line;
}

}  // namespace muster
