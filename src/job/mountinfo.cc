// SPDX-License-Identifier: Apache-2.0
// Fields: id parent major:minor root POINT options [optional]... - TYPE SOURCE
// super-options. The kernel writes blank, tab, newline and backslash as \ooo.
// Pure.
#include "job/mountinfo.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

bool is_octal(char character) { return character >= '0' && character <= '7'; }

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool escaped = text[at] == '\\' && at + 3 < text.size() &&
                         is_octal(text[at + 1]) && is_octal(text[at + 2]) &&
                         is_octal(text[at + 3]) && text[at + 1] <= '3';
    if (!escaped) {
      out.push_back(text[at]);
      continue;
    }
    const int code = (text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 +
                     (text[at + 3] - '0');
    out.push_back(static_cast<char>(code));
    at += 3;
  }
  return out;
}

std::optional<Mount> parse_line(std::string_view line) {
  constexpr size_t kPoint = 4;
  constexpr size_t kFirstOptional = 6;
  const std::vector<std::string_view> fields = split_words(line);
  if (fields.size() <= kFirstOptional) return std::nullopt;
  const auto dash = std::find(fields.begin() + kFirstOptional, fields.end(),
                              std::string_view("-"));
  if (fields.end() - dash < 3) return std::nullopt;
  Mount mount{unescape(fields[kPoint]), unescape(dash[1]), unescape(dash[2])};
  if (!mount.point.starts_with('/')) return std::nullopt;
  return mount;
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(text, '\n')) {
    if (auto mount = parse_line(line)) mounts.push_back(*std::move(mount));
  }
  return mounts;
}

}  // namespace muster
