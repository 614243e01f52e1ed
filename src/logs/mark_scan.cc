// SPDX-License-Identifier: Apache-2.0
#include "logs/mark_scan.h"

#include <cctype>

namespace muster::marks {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
         c == '.' || c == '_';
}

bool take_word(std::string_view& text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (size_t i = 0; i < lower.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) {
      return false;
    }
  }
  text.remove_prefix(lower.size());
  return true;
}

std::optional<int> take_number(std::string_view& text, size_t most) {
  size_t length = 0;
  int value = 0;
  while (length < text.size() && digit(text[length])) {
    if (length == most) return std::nullopt;
    value = value * 10 + (text[length++] - '0');
  }
  if (length == 0) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

void take_blanks(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

std::string_view take_name(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && in_name(text[end])) ++end;
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

}  // namespace muster::marks
