// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace muster {

std::optional<Decimal> leading_decimal(std::string_view text) {
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const size_t end =
      std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const std::string number(text.substr(0, end));
  if (plain == nullptr || number.starts_with('+')) return std::nullopt;
  char* stop = nullptr;
  errno = 0;
  const double value = ::strtod_l(number.c_str(), &stop, plain);
  const auto length = static_cast<size_t>(stop - number.c_str());
  if (length == 0 || errno == ERANGE) return std::nullopt;
  return Decimal{value, length};
}

}  // namespace muster
