// SPDX-License-Identifier: Apache-2.0
// Steps of the scanners of writer_mark.cc and its neighbours: each takes
// something from the front of a text, or leaves it alone. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster::marks {

// A mark that begins later in a line is text.
inline constexpr size_t kHead = 160;

inline bool digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c);
// Whatever its case.
bool take_word(std::string_view& text, std::string_view lower);
// 1-6 digits that end there.
std::optional<int> take_number(std::string_view& text);
void take_blanks(std::string_view& text);
// Letters, digits, '-', '.' and '_'; may be empty.
std::string_view take_name(std::string_view& text);

}  // namespace muster::marks
