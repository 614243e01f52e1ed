// SPDX-License-Identifier: Apache-2.0
// A decimal number at the front of a text, in any locale. std::from_chars reads
// one as well, but asks for the rounding mode, for which every program then
// loads libm: a twelfth of the agent's start. Refuses a plus, hexadecimal
// numbers, infinity and numbers that are too large.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace muster {

struct Decimal {
  double value = 0;
  size_t length = 0;  // length of the number in the text
};

std::optional<Decimal> leading_decimal(std::string_view text);

}  // namespace muster
