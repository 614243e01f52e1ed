// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <functional>

#include "base/decimal.h"

namespace muster {

namespace {
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' ||
         c == '\f';
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && is_blank(text[i])) ++i;
    const size_t start = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    if (i > start) words.push_back(text.substr(start, i - start));
  }
  return words;
}

std::string join(const std::vector<std::string>& parts,
                 std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<int> parse_int(std::string_view text) {
  const auto value = parse_integer(text);
  const bool fits = value && *value >= INT_MIN && *value <= INT_MAX;
  return fits ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

std::optional<int64_t> parse_duration_ms(std::string_view text) {
  // 1e9 days: each term is bounded by it, so the sum cannot overflow.
  constexpr int64_t kLongestMs = 86'400'000'000'000'000;
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  double unit = 0;
  while (!text.empty()) {
    const auto read = leading_decimal(text);
    if (!read || read->value < 0 || read->value > 1e9) return std::nullopt;
    const double number = read->value;
    text.remove_prefix(read->length);
    // "1m30" ends in seconds, "1h30" does not.
    if (text.empty() && unit > 60e3) return std::nullopt;
    unit = 1000;
    if (text.starts_with("ms")) {
      unit = 1;
      text.remove_prefix(2);
    } else if (!text.empty()) {
      switch (text.front()) {
        case 's':
          unit = 1000;
          break;
        case 'm':
          unit = 60e3;
          break;
        case 'h':
          unit = 3600e3;
          break;
        case 'd':
          unit = 86400e3;
          break;
        default:
          return std::nullopt;
      }
      text.remove_prefix(1);
    }
    total += static_cast<int64_t>(number * unit);
    if (total > kLongestMs) return std::nullopt;
  }
  return total;
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  std::snprintf(buffer, sizeof buffer, whole ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return buffer;
}

std::string human_duration_ms(int64_t milliseconds) {
  char buffer[64];
  if (milliseconds < 1000) {
    std::snprintf(buffer, sizeof buffer, "%lld ms",
                  static_cast<long long>(milliseconds));
  } else if (milliseconds < 120'000) {
    std::snprintf(buffer, sizeof buffer, "%.1f s",
                  static_cast<double>(milliseconds) / 1000);
  } else {
    const long long minutes = milliseconds / 60'000;
    const long long seconds = milliseconds % 60'000 / 1000;
    if (minutes < 120) {
      std::snprintf(buffer, sizeof buffer, "%lld min %lld s", minutes, seconds);
    } else {
      std::snprintf(buffer, sizeof buffer, "%lld h %lld min", minutes / 60,
                    minutes % 60);
    }
  }
  return buffer;
}

std::string human_seconds(int64_t milliseconds) {
  const int64_t seconds = milliseconds / 1000;
  return seconds < 120 ? std::to_string(seconds) + " s"
                       : human_duration_ms(seconds * 1000);
}

std::string shell_quote(std::string_view word) {
  static constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "@%+=:,./-_";
  if (!word.empty() && word.find_first_not_of(kSafe) == word.npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string_view utf8_prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [&text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t end = most;
  for (int i = 0; i < 3 && end > 0 && continues(end); ++i) --end;
  // More continuation bytes are not UTF-8.
  return text.substr(0, continues(end) ? most : end);
}

std::string one_line(std::string_view text, size_t most) {
  std::string out(utf8_prefix(text, most));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool is_dns_name(std::string_view text) {
  constexpr size_t kMost = 63;
  const auto is_end = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > kMost) return false;
  const bool known = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_end(c) || c == '-' || c == '.';
  });
  return known && is_end(text.front()) && is_end(text.back());
}

bool lies_in(std::string_view part, std::string_view whole) {
  const std::less_equal<const char*> before;  // orders any two pointers
  return before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace muster
