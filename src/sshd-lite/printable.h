// SPDX-License-Identifier: Apache-2.0
// Text that came from elsewhere, made safe for one line of a log. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// At most `limit` bytes; everything but printable ASCII becomes '?'.
inline std::string printable(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace muster
