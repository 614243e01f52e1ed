// SPDX-License-Identifier: Apache-2.0
// Finds things in the output of a tool. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// The text between the first `open` and the next `close`; "" if there is no
// such place.
inline std::string between(std::string_view text, std::string_view open,
                           std::string_view close) {
  const size_t at = text.find(open);
  if (at == text.npos) return "";
  const size_t start = at + open.size();
  const size_t end = text.find(close, start);
  return end == text.npos ? "" : std::string(text.substr(start, end - start));
}

}  // namespace muster
