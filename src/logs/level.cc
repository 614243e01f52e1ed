// SPDX-License-Identifier: Apache-2.0
#include "logs/level.h"

#include <algorithm>
#include <array>

namespace muster {

namespace {

constexpr size_t kMaxPrefix = 160;

struct Word {
  std::string_view word;
  LogLevel level;
};
constexpr std::array<Word, 16> kWords = {{
    {"trace", LogLevel::kTrace},
    {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},
    {"notice", LogLevel::kInfo},
    {"diag", LogLevel::kInfo},
    {"version", LogLevel::kInfo},  // NCCL
    {"warn", LogLevel::kWarn},
    {"warning", LogLevel::kWarn},
    {"err", LogLevel::kError},
    {"error", LogLevel::kError},
    {"abort", LogLevel::kError},
    {"severe", LogLevel::kError},
    {"critical", LogLevel::kFatal},
    {"fatal", LogLevel::kFatal},
    {"panic", LogLevel::kFatal},
    {"emerg", LogLevel::kFatal},
}};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool same_word(std::string_view text, std::string_view lowered) {
  if (text.size() != lowered.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != lowered[i]) return false;
  }
  return true;
}

std::optional<LogLevel> long_word(std::string_view word) {
  for (const Word& known : kWords) {
    if (same_word(word, known.word)) return known.level;
  }
  return std::nullopt;
}

bool all_same_case(std::string_view word) {
  bool upper_case = true;
  bool lower_case = true;
  for (const char c : word) {
    upper_case &= c >= 'A' && c <= 'Z';
    lower_case &= c >= 'a' && c <= 'z';
  }
  return upper_case || lower_case;
}

// "E0702 12:34:56.123456", "[E702 12:…", "W 2026-…": glog, absl, PyTorch.
std::optional<LogLevel> letter_level(std::string_view line) {
  if (line.starts_with('[')) line.remove_prefix(1);
  if (line.size() < 6) return std::nullopt;
  size_t digits = 1;
  while (digits < 6 && is_digit(line[digits])) ++digits;
  const bool glog = (digits == 4 || digits == 5) && line[digits] == ' ' &&
                    digits + 2 < line.size() && is_digit(line[digits + 1]);
  if (!glog) return std::nullopt;
  switch (line[0]) {
    case 'I':
      return LogLevel::kInfo;
    case 'W':
      return LogLevel::kWarn;
    case 'E':
      return LogLevel::kError;
    case 'F':
      return LogLevel::kFatal;
    default:
      return std::nullopt;
  }
}

// The level word behind a name that only its library writes.
std::optional<LogLevel> behind(std::string_view line, std::string_view name) {
  const size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + name.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  size_t length = 0;
  while (length < line.size() && is_letter(line[length])) ++length;
  return long_word(line.substr(0, length));
}

// Is the word at [start, end) set apart as a level: "[error]", "ERROR:",
// " - ERROR - ", "| INFO |", or alone behind a time?
bool set_apart(std::string_view line, size_t start, size_t end,
               bool after_time) {
  const char before = start > 0 ? line[start - 1] : '\0';
  const char after = end < line.size() ? line[end] : '\0';
  if (before == '[' && after == ']') return true;
  if (before == '(' && after == ')') return true;
  if (start == 0 && (after == ':' || after == '|')) return true;
  if (start == 0 && after == ' ') {
    const char next = end + 1 < line.size() ? line[end + 1] : '\0';
    return next == '[' || next == '|' || next == '-' || next == ' ' ||
           is_digit(next);
  }
  if (before == '|' || after == '|') return true;
  const bool between_blanks =
      before == ' ' && (after == ' ' || after == ':' || after == '\0');
  return between_blanks && after_time;
}

bool holds(std::string_view line, char c) {
  return line.find(c) != std::string_view::npos;
}

std::optional<LogLevel> marked_word(std::string_view line) {
  const bool after_time =
      !line.empty() &&
      (is_digit(line[0]) ||
       (line[0] == '[' && line.size() > 1 && is_digit(line[1])));
  // Without any of these marks only the first word can be set apart.
  if (!after_time && !holds(line, '[') && !holds(line, '(') &&
      !holds(line, '|')) {
    size_t end = 0;
    while (end < line.size() && (is_letter(line[end]) || line[end] == '_')) {
      ++end;
    }
    line = line.substr(0, std::min(line.size(), end + 3));
  }
  size_t words = 0;
  for (size_t start = 0; start < line.size();) {
    if (!is_letter(line[start])) {
      ++start;
      continue;
    }
    size_t end = start;
    while (end < line.size() && (is_letter(line[end]) || line[end] == '_')) {
      ++end;
    }
    const std::string_view word = line.substr(start, end - start);
    if (word.size() >= 3 && word.size() <= 8 && all_same_case(word) &&
        set_apart(line, start, end, after_time && words < 6)) {
      if (const auto level = long_word(word)) return level;
    }
    ++words;
    start = end;
  }
  return std::nullopt;
}

}  // namespace

const char* to_text(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
    case LogLevel::kFatal:
      return "fatal";
  }
  return "info";
}

std::optional<LogLevel> parse_level(std::string_view word) {
  if (word.size() == 1) {
    switch (lower(word[0])) {
      case 't':
        return LogLevel::kTrace;
      case 'd':
        return LogLevel::kDebug;
      case 'i':
        return LogLevel::kInfo;
      case 'w':
        return LogLevel::kWarn;
      case 'e':
        return LogLevel::kError;
      case 'f':
        return LogLevel::kFatal;
      default:
        return std::nullopt;
    }
  }
  return long_word(word);
}

std::optional<LogLevel> detect_level(std::string_view line) {
  line = line.substr(0, kMaxPrefix);
  if (line.starts_with("[rank")) {  // PyTorch puts it before its own mark
    const size_t end = line.find("]:");
    if (end != std::string_view::npos) line.remove_prefix(end + 2);
  }
  while (line.starts_with(' ')) line.remove_prefix(1);
  if (const auto level = letter_level(line)) return level;
  if (line.starts_with("Traceback (most recent call last)")) {
    return LogLevel::kError;
  }
  if (holds(line, ']')) {
    if (const auto level = behind(line, "] NCCL ")) return level;
    if (line.starts_with('[') &&  // Open MPI: [host:pid] *** An error occurred
        line.find("] *** ") != std::string_view::npos) {
      return LogLevel::kError;
    }
  }
  if (holds(line, 'U')) {
    if (const auto level = behind(line, " UCX  ")) return level;
  }
  return marked_word(line);
}

}  // namespace muster
