// SPDX-License-Identifier: Apache-2.0
// Steps of the readers that find a line's writer (line_origin.cc, and
// writer_mark.cc of the diagnosis): each takes a mark from the front of a text,
// or leaves it alone. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster::marks {

// A mark that begins later in a line is text.
inline constexpr size_t kHead = 160;

inline bool digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c);
// In any case of letters.
bool take_word(std::string_view& text, std::string_view lower);
// 1 to `most` digits that end there; `most` is 9 at most.
std::optional<int> take_number(std::string_view& text, size_t most = 6);
void take_blanks(std::string_view& text);
// Letters, digits, '-', '.' and '_'; may be empty.
std::string_view take_name(std::string_view& text);

}  // namespace muster::marks
