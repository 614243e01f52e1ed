// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/text_template.h"

#include "base/text.h"

namespace muster {

namespace {

bool is_name(std::string_view text) {
  for (const char c : text) {
    if ((c < 'a' || c > 'z') && c != '_') return false;
  }
  return !text.empty();
}

std::optional<std::string> fill_one(std::string_view text,
                                    const Captures& values) {
  std::string filled;
  while (!text.empty()) {
    const size_t open = text.find('{');
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      filled += text.substr(open);
      break;
    }
    std::string_view name = text.substr(open + 1, close - open - 1);
    const bool only_if = name.starts_with('?');
    if (only_if) name.remove_prefix(1);
    if (const size_t bar = name.find('|'); bar != std::string_view::npos) {
      const auto many = values.find(kMany);
      const bool one = many == values.end() || many->second.empty();
      filled += one ? name.substr(0, bar) : name.substr(bar + 1);
    } else if (!is_name(name)) {  // a brace of the sentence itself
      filled += text.substr(open, close + 1 - open);
    } else {
      const auto value = values.find(std::string(name));
      if (value == values.end() || value->second.empty()) return std::nullopt;
      if (!only_if) filled += value->second;
    }
    text.remove_prefix(close + 1);
  }
  return filled;
}

}  // namespace

std::optional<std::string> fill_template(std::string_view text,
                                         const Captures& values) {
  constexpr std::string_view kOr = " || ";
  for (;;) {
    const size_t end = text.find(kOr);
    if (auto filled = fill_one(trim(text.substr(0, end)), values)) {
      return filled;
    }
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + kOr.size());
  }
}

}  // namespace muster
