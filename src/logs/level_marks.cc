// SPDX-License-Identifier: Apache-2.0
// detect_level(): every line of every rank comes here, and almost none has a
// mark. A mark that may stand anywhere in a line is found by a rare character
// that it contains.
#include <algorithm>
#include <array>

#include "logs/level.h"

namespace muster {

namespace {

using Found = std::optional<LogLevel>;

constexpr size_t kMaxPrefix = 160;
constexpr size_t kNowhere = std::string_view::npos;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool holds(std::string_view line, char c) { return line.find(c) != kNowhere; }

// The first characters of a function's marks: tested before it.
class FirstOf {
 public:
  constexpr explicit FirstOf(std::string_view characters) {
    for (const char c : characters) in_[static_cast<unsigned char>(c)] = true;
  }
  bool operator()(std::string_view line) const {
    return !line.empty() && in_[static_cast<unsigned char>(line[0])];
  }

 private:
  std::array<bool, 256> in_{};
};

char at(std::string_view line, size_t index) {
  return index < line.size() ? line[index] : '\0';
}

size_t word_end(std::string_view line, size_t begin) {
  while (begin < line.size() && (is_letter(line[begin]) || line[begin] == '_'))
    ++begin;
  return begin;
}

bool all_same_case(std::string_view word) {
  return std::all_of(word.begin(), word.end(), is_upper) ||
         std::none_of(word.begin(), word.end(), is_upper);
}

// parse_level() also takes single letters; a word of this form has more.
Found long_level(std::string_view word) {
  return word.size() < 3 ? std::nullopt : parse_level(word);
}

Found letter(char c) {
  if (c != 'I' && c != 'W' && c != 'E' && c != 'F') return std::nullopt;
  return parse_level(std::string_view(&c, 1));
}

// "E0702 12:34:56.123456", "[E702 12:…": glog, absl, PyTorch; with the year,
// "E20260702 12:…", glog since 0.5.
// "2026-01-31 12:00:00.123456: E ": TensorFlow. "[NeMo E 2026-": NeMo.
Found letter_level(std::string_view line) {
  constexpr size_t kTensorFlow = 26;
  if (at(line, kTensorFlow) == ':' && is_digit(line[0]) &&
      at(line, kTensorFlow + 1) == ' ' && at(line, kTensorFlow + 3) == ' ') {
    return letter(line[kTensorFlow + 2]);
  }
  if (line.starts_with("[NeMo ")) return letter(at(line, 6));
  if (line[0] == '[') line.remove_prefix(1);
  size_t digits = 1;
  while (digits < 10 && is_digit(at(line, digits))) ++digits;
  const bool glog = (digits == 4 || digits == 5 || digits == 9) &&
                    at(line, digits) == ' ' && is_digit(at(line, digits + 1));
  return glog ? letter(line[0]) : std::nullopt;
}

// The level word behind a name that only its library writes, after a blank.
Found behind(std::string_view line, std::string_view name) {
  size_t begin = line.find(name);
  if (begin == kNowhere || (begin > 0 && line[begin - 1] != ' ')) {
    return std::nullopt;
  }
  begin += name.size();
  while (is_blank(at(line, begin))) ++begin;
  return long_level(line.substr(begin, word_end(line, begin) - begin));
}

// "[host:pid] *** An error occurred", "… ORTE_ERROR_LOG: Not found in file",
// "… PMIX ERROR: TIMEOUT".
Found open_mpi_level(std::string_view line) {
  if (line.find("] *** ") != kNowhere ||
      line.find("_ERROR_LOG: ") != kNowhere) {
    return LogLevel::kError;
  }
  for (const std::string_view who : {"OPAL", "ORTE", "PMIX", "PRTE"}) {
    const size_t found = line.find(who);
    if (found != kNowhere &&
        line.substr(found + who.size()).starts_with(" ERROR: ")) {
      return LogLevel::kError;
    }
  }
  return std::nullopt;
}

Found library_level(std::string_view line) {
  if (line.starts_with("libfabric:")) {
    const size_t open = line.find('<');
    return open == kNowhere ? std::nullopt : behind(line.substr(open), "<");
  }
  if (!holds(line, ']')) return std::nullopt;
  if (const auto level = behind(line, "NCCL ")) return level;
  if (const auto level = behind(line, "UCX  ")) return level;
  return line[0] == '[' ? open_mpi_level(line) : std::nullopt;
}

// {"level":"error", level=error: the value behind one of the usual names.
Found field_level(std::string_view line) {
  const bool json = line.starts_with('{');
  if (!json) {
    const std::string_view first = line.substr(0, line.substr(0, 6).find('='));
    if (first != "time" && first != "ts" && first != "t" && first != "level") {
      return std::nullopt;
    }
  }
  for (const std::string_view name :
       {"level", "severity", "levelname", "lvl", "log.level"}) {
    for (size_t found = line.find(name); found != kNowhere;
         found = line.find(name, found + 1)) {
      size_t end = found + name.size();
      if (json && (at(line, found - 1) != '"' || at(line, end++) != '"')) {
        continue;
      }
      while (is_blank(at(line, end))) ++end;
      if (at(line, end) != (json ? ':' : '=')) continue;
      ++end;
      while (is_blank(at(line, end)) || at(line, end) == '"') ++end;
      return long_level(line.substr(end, word_end(line, end) - end));
    }
  }
  return std::nullopt;
}

// "RuntimeError: …", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt": the
// last line of a traceback. "x.py:12: UserWarning: …".
Found python_level(std::string_view line) {
  if (line.starts_with("Traceback (most recent call last)")) {
    return LogLevel::kError;
  }
  size_t end = 0;
  while (is_letter(at(line, end)) || is_digit(at(line, end)) ||
         at(line, end) == '.' || at(line, end) == '_') {
    ++end;
  }
  const std::string_view name = line.substr(0, end);
  if (end == line.size() || line[end] == ':') {
    if (name.size() > 5 &&
        (name.ends_with("Error") || name.ends_with("Exception") ||
         name == "KeyboardInterrupt")) {
      return LogLevel::kError;
    }
  }
  const size_t warning = line.find("Warning: ");
  if (warning != kNowhere &&
      (warning < end || line.substr(0, warning).find(": ") != kNowhere)) {
    return LogLevel::kWarn;
  }
  return std::nullopt;
}

// The words of runtimes when a process goes down.
Found last_words(std::string_view line) {
  constexpr std::string_view kWords[] = {"Fatal error in ",
                                         "Abort(",
                                         "MPI_ABORT was invoked",
                                         "terminate called ",
                                         "Segmentation fault",
                                         "Bus error",
                                         "Fatal Python error:",
                                         "Aborted (core",
                                         "*** Process received signal"};
  for (const std::string_view word : kWords) {
    if (word[0] == line[0] && line.starts_with(word)) return LogLevel::kError;
  }
  return std::nullopt;
}

// "Error: 0.1", "step 3: error: 0.1"
bool is_figure(std::string_view line, size_t colon) {
  return is_digit(at(line, colon + 1)) ||
         (at(line, colon + 1) == ' ' && is_digit(at(line, colon + 2)));
}

// "srun: error: …", "train.py: error: …"
Found program_level(std::string_view line) {
  for (size_t colon = line.find(": "); colon != kNowhere;
       colon = line.find(": ", colon + 2)) {
    const size_t begin = colon + 2;
    const size_t end = word_end(line, begin);
    if (at(line, end) != ':' || is_figure(line, end)) continue;
    const std::string_view word = line.substr(begin, end - begin);
    if (!all_same_case(word)) continue;
    if (const auto level = long_level(word)) return level;
  }
  return std::nullopt;
}

// Whether the word at [begin, end) is set apart as a level: "[error]",
// "ERROR:", " - ERROR - ", "| INFO |", "ERROR text", or alone behind a time.
bool set_apart(std::string_view line, size_t begin, size_t end,
               bool after_time) {
  const char before = begin > 0 ? line[begin - 1] : '\0';
  const char after = at(line, end);
  if (begin > 0) {
    const bool framed = (before == '[' && after == ']') ||
                        (before == '(' && after == ')') || before == '|' ||
                        after == '|' ||
                        (after_time && is_blank(before) &&
                         (is_blank(after) || after == ':' || after == '\0'));
    return framed && all_same_case(line.substr(begin, end - begin));
  }
  const bool capitals = is_upper(line[0]) && is_upper(line[1]);
  if (after == '|') return true;
  if (after == ':') return capitals || !is_figure(line, end);
  if (!is_blank(after)) return false;
  const char next = at(line, end + 1);
  return capitals || next == '[' || next == '|' || next == '-' || next == ' ' ||
         is_digit(next);
}

Found marked_word(std::string_view line, bool behind_time) {
  const bool after_time = behind_time || is_digit(at(line, 0)) ||
                          (at(line, 0) == '[' && is_digit(at(line, 1)));
  // Without any of these marks only the first word can be set apart.
  if (!after_time && !holds(line, '[') && !holds(line, '(') &&
      !holds(line, '|')) {
    line = line.substr(0, word_end(line, 0) + 3);
  }
  size_t words = 0;
  for (size_t begin = 0; begin < line.size();) {
    if (!is_letter(line[begin])) {
      ++begin;
      continue;
    }
    const size_t end = word_end(line, begin);
    if (end - begin >= 3 && end - begin <= 8 &&
        set_apart(line, begin, end, after_time && words < 6)) {
      const auto level = long_level(line.substr(begin, end - begin));
      if (level) return level;
    }
    ++words;
    begin = end;
  }
  return std::nullopt;
}

// Skips the marks that wrappers put before a program's own: "[rank3]:" and
// "[default3]:" of PyTorch, "(Worker pid=7, ip=…) " of Ray, "wandb: ".
std::string_view without_wrapper(std::string_view line) {
  size_t end = 0;
  if (line.starts_with("[rank") || line.starts_with("[default")) {
    end = line.find("]:");
  } else if (line[0] == '(' && line.find(" pid=") != kNowhere) {
    end = line.find(") ");
  } else if (line.starts_with("wandb: ")) {
    end = 5;
  } else {
    return line;
  }
  return end == kNowhere ? line : line.substr(end + 2);
}

// Colours ("\x1b[31m") stand between a mark and its signs.
struct Plain {
  std::array<char, kMaxPrefix> bytes;
  size_t size = 0;
};

Plain without_colours(std::string_view line) {
  Plain plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && at(line, i + 1) == '[') {
      i += 2;
      while (is_digit(at(line, i)) || at(line, i) == ';') ++i;
      continue;  // past its last letter
    }
    plain.bytes[plain.size++] = line[i];
  }
  return plain;
}

Found level_of(std::string_view line, bool behind_time) {
  static constexpr FirstOf kWrappers("[(w");
  static constexpr FirstOf kLetters("[IWEF0123456789");
  static constexpr FirstOf kFields("{tl");
  static constexpr FirstOf kLastWords("FAMtSB*");
  if (kWrappers(line)) line = without_wrapper(line);
  const bool indented = line.starts_with(' ');
  while (line.starts_with(' ')) line.remove_prefix(1);
  Found level;
  if (kLetters(line)) level = letter_level(line);
  if (!level) level = library_level(line);
  if (!level && kFields(line)) level = field_level(line);
  if (!level && kLastWords(line)) level = last_words(line);
  if (!level) level = marked_word(line, behind_time);
  if (!level) level = program_level(line);
  if (!level && !indented) level = python_level(line);
  return level;
}

}  // namespace

Found detect_level(std::string_view line, bool behind_time) {
  line = line.substr(0, kMaxPrefix);
  if (holds(line, '\x1b')) {
    const Plain plain = without_colours(line);
    return level_of({plain.bytes.data(), plain.size}, behind_time);
  }
  return level_of(line, behind_time);
}

}  // namespace muster
