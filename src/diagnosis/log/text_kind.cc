// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/text_kind.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kFirst = 2000;
constexpr size_t kEnough = 20;

bool any_prefix(std::string_view line,
                std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(), [line](std::string_view head) {
    return line.starts_with(head);
  });
}

// Of C, C++, Python, shell. JSON is what loggers write.
bool is_code(std::string_view line) {
  const char first = line.front();
  if (first == '"' || first == '[') return false;
  if (first == '{') return line.size() == 1;
  if (any_prefix(
          line,
          {"//",       "/*",    "* ",     "*/",      "#include ", "#define ",
           "#pragma ", "#if",   "#endif", "import ", "def ",      "class ",
           "return ",  "if (",  "for (",  "while (", "const ",    "static ",
           "} else",   "elif ", "else:",  "try:",    "except ",   "namespace ",
           "using ",   "self."})) {
    return true;
  }
  if (line.starts_with("from ") && line.find(" import ") != line.npos) {
    return true;
  }
  return line.ends_with(';') || line.ends_with('{') || line.ends_with("}") ||
         line.ends_with("):") || line.ends_with(") {");
}

// Not "# apt install", which root types.
bool is_heading(std::string_view line) {
  const size_t marks = std::min(line.find_first_not_of('#'), line.size());
  return marks >= 2 && marks <= 4 && marks + 1 < line.size() &&
         line[marks] == ' ' &&
         std::isalpha(static_cast<unsigned char>(line[marks + 1])) != 0;
}

// A sentence: many words of letters, and no number in front.
bool is_prose(std::string_view line) {
  constexpr size_t kWords = 5;
  if (any_prefix(line, {"- ", "* ", "| "})) return true;
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
  };
  const auto words =
      static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
  const auto letters =
      static_cast<size_t>(std::count_if(line.begin(), line.end(), letter));
  return (letter(line.front()) || line.front() == '`') && words >= kWords &&
         letters * 10 >= line.size() * 6;
}

bool is_commit(std::string_view line) {
  constexpr std::string_view kHead = "commit ";
  constexpr size_t kHash = 40;
  return line.starts_with(kHead) && line.size() >= kHead.size() + kHash &&
         line.substr(kHead.size(), kHash)
                 .find_first_not_of("0123456789abcdef") == line.npos;
}

}  // namespace

void TextKind::add(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.empty() || lines_ >= kFirst) return;
  ++lines_;
  if (is_commit(line)) ++commits_;
  if (lines_ == 1) commit_first_ = commits_ == 1;
  author_ = author_ || line.starts_with("Author: ");
  if (is_heading(line)) ++headings_;
  if (is_code(text)) {
    ++code_;
  } else if (is_heading(line) || is_prose(text)) {
    ++prose_;
  }
}

std::string_view TextKind::instead() const {
  if (commit_first_ && author_) return "what git log prints";
  if (lines_ < kEnough) return {};
  if (code_ * 2 >= lines_) return "source code";
  if (headings_ >= 3 && prose_ * 2 >= lines_) return "a page of text";
  return {};
}

}  // namespace muster
