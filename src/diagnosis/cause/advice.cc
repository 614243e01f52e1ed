// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/advice.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace muster {

namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The beginnings of advice, in small letters; a blank or a colon follows.
constexpr std::array<std::string_view, 36> kOpeners = {
    "hint",
    "tip",
    "suggestion",
    "recommendation",
    "try",
    "consider",
    "please try",
    "please consider",
    "you may want",
    "you might want",
    "you may need",
    "you might need",
    "you can try",
    "you can set",
    "you should",
    "to debug",
    "to avoid",
    "to fix",
    "to resolve",
    "to solve",
    "to suppress",
    "to disable",
    "to work around",
    "if you",
    "make sure",
    "note that",
    "possible cause",
    "possible causes",
    "possible reasons",
    "possible solutions",
    "for more information",
    "see also",
    "deprecationwarning",
    "futurewarning",
    "pendingdeprecationwarning",
    "remember to"};

// The kind of a line by its name before "=" or ":".
constexpr std::array<std::string_view, 12> kTelling = {
    "code",  "status", "state",     "reason",  "errno", "signal",
    "error", "exit",   "exception", "message", "fault", "result"};

bool is_value(std::string_view text) {
  constexpr size_t kLongest = 40;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_word_char(c) || c == '.' || c == '-' || c == '+' ||
                  c == '\'' || c == '"';
         });
}

bool is_plain(std::string_view value) {
  constexpr std::array<std::string_view, 9> kPlain = {
      "true", "false", "none", "null", "yes", "no", "on", "off", "nil"};
  const std::string lowered = to_lower(value);
  if (std::find(kPlain.begin(), kPlain.end(), lowered) != kPlain.end()) {
    return true;
  }
  return std::isdigit(static_cast<unsigned char>(value.front())) != 0;
}

// "TrainingArguments(on_error='abort', …", "Namespace(lr=0.1, …".
bool is_object_dump(std::string_view line) {
  const size_t open = line.find('(');
  if (open == std::string_view::npos || open == 0) return false;
  const std::string_view name = line.substr(0, open);
  if (!std::all_of(name.begin(), name.end(), is_word_char)) return false;
  const bool holds_settings =
      name == "Namespace" || name.ends_with("Config") ||
      name.ends_with("Args") || name.ends_with("Arguments") ||
      name.ends_with("Options") || name.ends_with("Params");
  return holds_settings && line.find('=', open) != std::string_view::npos;
}

// Where advice begins behind the event.
std::string_view before_advice(std::string_view line) {
  constexpr std::array<std::string_view, 8> kTurns = {
      " please ", " try ",     " consider ",  " did you mean",
      " hint:",   " you may ", " you might ", " make sure "};
  constexpr size_t kAtLeast = 20;  // the event needs words, too
  const std::string lowered = to_lower(line);
  size_t end = line.size();
  for (const std::string_view turn : kTurns) {
    const size_t at = lowered.find(turn, kAtLeast);
    if (at != std::string::npos) end = std::min(end, at);
  }
  return line.substr(0, end);
}

// "src/transport/net_ib.cc:102", "(train.py:7)".
bool is_source_place(std::string_view word) {
  constexpr std::array<std::string_view, 9> kEnds = {
      ".cc", ".cpp", ".c", ".h", ".py", ".cu", ".go", ".rs", ".java"};
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon + 1 >= word.size()) return false;
  if (std::isdigit(static_cast<unsigned char>(word[colon + 1])) == 0) {
    return false;
  }
  const std::string_view file = word.substr(0, colon);
  return std::any_of(kEnds.begin(), kEnds.end(), [file](std::string_view end) {
    return file.ends_with(end);
  });
}

// "/scratch/nccl/in.dat" is about in.dat; devices and addresses stay.
std::string_view without_directory(std::string_view word) {
  const size_t slash = word.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == word.size() ||
      word.find("://") != std::string_view::npos ||
      word.find("/dev/") != std::string_view::npos) {
    return word;
  }
  return word.find('/') == slash ? word : word.substr(slash + 1);
}

// "host=gpu-7" is about gpu-7, and `"host": "gpu-7",` likewise: a field's name
// does not tell what happened.
std::string_view without_key(std::string_view word) {
  const std::string_view quoted =
      word.substr(std::min(word.find_first_not_of("{[,"), word.size()));
  if (quoted.starts_with('"') && quoted.ends_with("\":")) return {};
  const size_t equals = word.find('=');
  const bool field =
      equals != std::string_view::npos && equals > 0 &&
      equals + 1 < word.size() && word[equals + 1] != '=' &&
      std::all_of(word.begin(), word.begin() + equals, is_word_char);
  return field ? word.substr(equals + 1) : word;
}

}  // namespace

std::string without_asides(std::string_view line) {
  std::string kept;
  for (const std::string_view word : split(before_advice(line), ' ')) {
    if (is_source_place(word)) continue;
    const std::string_view value = without_key(word);
    if (!kept.empty() && !value.empty()) kept += ' ';
    kept += without_directory(value);
  }
  return kept;
}

bool is_advice(std::string_view line) {
  constexpr size_t kOpening = 40;
  while (!line.empty() && !is_word_char(line.front())) line.remove_prefix(1);
  const std::string lowered = to_lower(line.substr(0, kOpening));
  return std::any_of(
      kOpeners.begin(), kOpeners.end(), [&lowered](std::string_view opener) {
        return lowered.starts_with(opener) && lowered.size() > opener.size() &&
               (lowered[opener.size()] == ' ' || lowered[opener.size()] == ':');
      });
}

bool is_setting(std::string_view line) {
  line = trim(line);
  if (is_object_dump(line)) return true;
  const size_t mark = line.find_first_of("=:");
  if (mark == 0 || mark == std::string_view::npos) return false;
  std::string_view name = trim(line.substr(0, mark));
  std::string_view value = trim(line.substr(mark + 1));
  if (value.ends_with(',')) value.remove_suffix(1);
  while (!name.empty() && !is_word_char(name.front())) name.remove_prefix(1);
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  if (!is_value(value)) return false;
  const std::string lowered = to_lower(name);
  const bool tells = std::any_of(
      kTelling.begin(), kTelling.end(),
      [&lowered](std::string_view word) { return lowered.ends_with(word); });
  if (tells) return false;
  const bool compound = name.find_first_of("_(") != std::string_view::npos;
  if (compound) return true;
  // "Killed: 9" is not a setting, "timeout: 600" is one.
  const bool small =
      std::islower(static_cast<unsigned char>(name.front())) != 0;
  return is_plain(value) && (line[mark] == '=' || small);
}

}  // namespace muster
