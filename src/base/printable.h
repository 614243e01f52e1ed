// SPDX-License-Identifier: Apache-2.0
// Makes foreign text safe to show: control characters would reach terminals and
// logs. Ranks' own output does not pass here. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Untrusted bytes, for one line: at most `limit` of them; everything except
// printable ASCII becomes '?'.
inline std::string printable(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  if (text.size() > limit) out += "...";
  return out;
}

// Text in any language: control characters that are not in `kept` become '?'.
inline std::string without_controls(std::string_view text,
                                    std::string_view kept = {}) {
  std::string out(text);
  for (char& c : out) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control && kept.find(c) == std::string_view::npos) c = '?';
  }
  return out;
}

// Without escape sequences (colours) and other control characters.
std::string without_escapes(std::string_view text);

// Text of a peer, in any language, for one line of a message or a terminal.
// Escapes characters that would move the cursor, change colours, begin a line
// or turn the writing direction (\n, \x1b, \u202e), and bytes that are not
// UTF-8. Cuts a text longer than `limit` between characters, and ends it in
// "...". Leaves its own output unchanged.
std::string printable_line(std::string_view text,
                           size_t limit = std::string_view::npos);
// The same for each line of a text.
std::string printable_lines(std::string_view text);

}  // namespace muster
