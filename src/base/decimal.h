// SPDX-License-Identifier: Apache-2.0
// A decimal number at the front of a text, whatever the locale. std::from_chars
// reads one as well, but asks how numbers are rounded, for which every program
// then loads the library of mathematics: a twelfth of what the agent's start
// costs. Refuses a plus, hexadecimal numbers, infinity and what is too large.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster {

struct Decimal {
  double value = 0;
  size_t length = 0;  // of the text that is the number
};

std::optional<Decimal> leading_decimal(std::string_view text);

}  // namespace muster
