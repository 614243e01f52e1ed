// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace muster {

namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// Refuses overlong forms, surrogates and what lies above U+10FFFF.
Character character_at(std::string_view text) {
  const auto byte = [text](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  uint32_t code = first & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff ||
      (code >= 0xd800 && code < 0xe000)) {
    return {};
  }
  return {code, bytes};
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Marks and overrides of the writing direction, separators of lines, and
// zero-width characters: a text looks like another with them.
bool deceives(uint32_t code) {
  return code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

void append_escape(std::string& out, uint32_t code) {
  char text[16];
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code == '\t') {
    out += "\\t";
  } else {
    std::snprintf(text, sizeof text,
                  code < 0x100     ? "\\x%02x"
                  : code < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                  static_cast<unsigned>(code));
    out += text;
  }
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\x1b' && at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    } else if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') {
      out += c;
    }
  }
  return out;
}

std::string printable_line(std::string_view text, size_t limit) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= limit && is_plain(text)) return std::string(text);
  std::string out;
  size_t cut = 0;  // while the mark still has room behind
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text.substr(at));
    if (out.size() + kCut.size() <= limit) cut = out.size();
    if (c.bytes == 0) {
      append_escape(out, static_cast<unsigned char>(text[at]));
    } else if (is_control(c.code) || deceives(c.code)) {
      append_escape(out, c.code);
    } else {
      out += text.substr(at, c.bytes);
    }
    if (out.size() > limit) return out.substr(0, cut).append(kCut);
    at += std::max<size_t>(c.bytes, 1);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += printable_line(text.substr(0, end));
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace muster
