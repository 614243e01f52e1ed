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
// Of texts whose first line, or each line, tells what they are.
constexpr size_t kFew = 5;
constexpr size_t kShort = 8;

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
          {"//",       "/*",       "* ",         "*/",         "#include ",
           "#define ", "#pragma ", "#if",        "#endif",     "import ",
           "def ",     "class ",   "return ",    "if (",       "for (",
           "while (",  "const ",   "static ",    "} else",     "elif ",
           "else:",    "try:",     "except ",    "namespace ", "using ",
           "self.",    "raise ",   "async def ", "assert ",    "print(",
           "@",        "#!",       "#SBATCH ",   "#PBS "})) {
    return true;
  }
  if (line.ends_with(':') &&
      any_prefix(line, {"if ", "for ", "while ", "with "})) {
    return true;
  }
  if (line.starts_with("from ") && line.find(" import ") != line.npos) {
    return true;
  }
  return line.ends_with(';') || line.ends_with('{') || line.ends_with("}") ||
         line.ends_with("):") || line.ends_with(") {");
}

// Declares something at the start of its line, as no log does.
bool is_declaration(std::string_view line) {
  return any_prefix(line,
                    {"import ", "def ", "async def ", "class ", "#include ",
                     "#define ", "#pragma ", "namespace ", "using ", "package ",
                     "func ", "fn ", "pub fn ", "static ", "template <",
                     "int main(", "if __name__ =="}) ||
         (line.starts_with("from ") && line.find(" import ") != line.npos);
}

// A statement within a function. A traceback's lines look so, too.
bool is_statement(std::string_view line) {
  if (!line.starts_with("  ") && !line.starts_with('\t')) return false;
  const std::string_view text = trim(line);
  return text.find(" = ") != text.npos || text.ends_with(')') ||
         text.ends_with('(') || text.ends_with(',') || text.ends_with(':') ||
         text.ends_with(']');
}

// Of a shell's script. "srun:" begins what srun itself says.
bool is_command(std::string_view line) {
  return line.starts_with('#') || line == "fi" || line == "done" ||
         any_prefix(line, {"set -", "export ", "module ", "source ", "cd ",
                           "echo ", "srun ", "mpirun ", "mpiexec ", "python ",
                           "if [", "for ", "torchrun "});
}

// "name: value", "- item".
bool is_field(std::string_view line) {
  while (line.starts_with("- ")) line = trim(line.substr(2));
  const size_t colon = line.find(':');
  return colon != line.npos && line.find(' ') >= colon &&
         (colon + 1 == line.size() || line[colon + 1] == ' ');
}

// Not "# apt install", which root types.
bool is_heading(std::string_view line) {
  const size_t marks = std::min(line.find_first_not_of('#'), line.size());
  return marks >= 2 && marks <= 4 && marks + 1 < line.size() &&
         line[marks] == ' ' &&
         std::isalpha(static_cast<unsigned char>(line[marks + 1])) != 0;
}

// "# Install", of a page's first line.
bool is_title(std::string_view line) {
  return line.size() > 2 && line.starts_with("# ") &&
         std::isupper(static_cast<unsigned char>(line[2])) != 0;
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

// "1f0c2b7a9 (HEAD -> main) Fix the timeout".
bool is_short_commit(std::string_view line) {
  constexpr size_t kShortest = 7;
  constexpr size_t kLongest = 12;
  const size_t end = line.find_first_not_of("0123456789abcdef");
  return end != line.npos && end >= kShortest && end <= kLongest &&
         line[end] == ' ' &&
         line.substr(0, end).find_first_of("abcdef") != line.npos;
}

}  // namespace

void TextKind::add(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.empty() || lines_ >= kFirst) return;
  ++lines_;
  if (lines_ == 1) {
    commit_first_ = is_commit(line);
    diff_ = line.starts_with("diff --git ");
    script_ = line.starts_with("#!");
    title_ = is_title(line);
    manifest_ = line.starts_with("apiVersion: ");
  }
  author_ = author_ || line.starts_with("Author: ");
  // Kubernetes' answer to a query, which tells how the object fares.
  manifest_ = manifest_ && text != "status:";
  if (is_short_commit(line)) ++short_commits_;
  if (is_field(text)) ++fields_;
  if (is_declaration(line)) ++declarations_;
  if (is_code(text) || is_statement(line)) ++statements_;
  if (is_command(text)) ++commands_;
  if (is_heading(line)) ++headings_;
  if (is_code(text)) {
    ++code_;
  } else if (is_heading(line) || is_prose(text)) {
    ++prose_;
  }
}

std::string_view TextKind::instead() const {
  if (commit_first_ && author_) return "what git log prints";
  if (diff_) return "a diff";
  if (lines_ >= kFew && short_commits_ == lines_) return "what git log prints";
  if (manifest_ && lines_ >= kFew && fields_ * 10 >= lines_ * 9) {
    return "a manifest";
  }
  if (script_ && lines_ >= kFew && commands_ * 4 >= lines_ * 3) {
    return "a shell script";
  }
  if (declarations_ >= 3 && lines_ >= kShort && statements_ * 2 >= lines_) {
    return "source code";
  }
  if (title_ && headings_ >= 2 && lines_ >= kShort && prose_ * 2 >= lines_) {
    return "a page of text";
  }
  if (lines_ < kEnough) return {};
  if (code_ * 2 >= lines_) return "source code";
  if (headings_ >= 3 && prose_ * 2 >= lines_) return "a page of text";
  return {};
}

}  // namespace muster
