// SPDX-License-Identifier: Apache-2.0
#include "logs/level.h"

#include <array>

namespace muster {

namespace {

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

}  // namespace muster
