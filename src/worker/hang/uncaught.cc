// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/uncaught.h"

#include <cstddef>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMostSource = 4 << 20;
constexpr std::string_view kRaised = "raised ";

// A statement's first line, and where it ends.
struct Statement {
  size_t indent = 0;
  int first = 0;
  int last = 0;
  std::string_view head;  // from its first word to the end of its line
};

// Splits Python source into statements by its rules for lines: brackets and
// quotes join them, as does a backslash.
class Statements {
 public:
  explicit Statements(std::string_view source) : source_(source) {}

  // false: brackets or quotes do not match.
  bool read(std::vector<Statement>& out) {
    while (at_ < source_.size()) {
      if (!read_one(out)) return false;
    }
    return true;
  }

 private:
  bool read_one(std::vector<Statement>& out) {
    size_t indent = 0;
    for (; at_ < source_.size(); ++at_) {
      if (source_[at_] == ' ') {
        ++indent;
      } else if (source_[at_] == '\t') {
        indent = indent / 8 * 8 + 8;
      } else {
        break;
      }
    }
    if (at_ >= source_.size()) return true;
    const size_t begin = at_;
    const int first = line_;
    if (!pass_logical_line()) return false;
    std::string_view head = source_.substr(begin, at_ - begin);
    head = trim(head.substr(0, head.find('\n')));
    const bool blank = head.empty() || head[0] == '#';
    if (!blank) out.push_back({indent, first, line_, head});
    ++line_;
    ++at_;  // over the line's end
    return true;
  }

  // To the end of the statement's last line.
  bool pass_logical_line() {
    int depth = 0;
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (c == '\n') {
        if (depth == 0) return true;
        ++line_;
      } else if (c == '#') {
        while (at_ + 1 < source_.size() && source_[at_ + 1] != '\n') ++at_;
      } else if (c == '\\' && at_ + 1 < source_.size() &&
                 source_[at_ + 1] == '\n') {
        ++at_;
        ++line_;
      } else if (c == '"' || c == '\'') {
        if (!pass_string()) return false;
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        if (--depth < 0) return false;
      }
    }
    return depth == 0;
  }

  // To its last quote.
  bool pass_string() {
    const char quote = source_[at_];
    const std::string three(3, quote);
    const bool is_long = source_.substr(at_, 3) == three;
    at_ += is_long ? 3 : 1;
    for (; at_ < source_.size(); ++at_) {
      if (source_[at_] == '\\') {
        if (at_ + 1 < source_.size() && source_[at_ + 1] == '\n') ++line_;
        ++at_;
      } else if (source_[at_] == '\n') {
        if (!is_long) return false;
        ++line_;
      } else if (is_long ? source_.substr(at_, 3) == three
                         : source_[at_] == quote) {
        at_ += is_long ? 2 : 0;
        return true;
      }
    }
    return false;
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
};

// Statements that may catch an exception within them.
bool may_catch(std::string_view head) {
  if (head.starts_with("async ")) head = trim(head.substr(6));
  for (const std::string_view word : {"try", "with"}) {
    if (!head.starts_with(word)) continue;
    const char next = head.size() > word.size() ? head[word.size()] : ':';
    const bool goes_on = (next >= 'a' && next <= 'z') || next == '_' ||
                         (next >= 'A' && next <= 'Z') ||
                         (next >= '0' && next <= '9');
    if (!goes_on) return true;
  }
  return false;
}

// Whether the option has a value in the next word.
bool takes_next(std::string_view word) {
  return word == "-W" || word == "-X" || word == "--check-hash-based-pycs";
}

}  // namespace

MainProgram main_program(const std::vector<std::string>& command) {
  using Kind = MainProgram::Kind;
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word.size() < 2 || word[0] != '-') {
      return word.empty() || word == "-" ? MainProgram{}
                                         : MainProgram{Kind::kScript, word};
    }
    if (takes_next(word)) {
      ++i;
      continue;
    }
    if (word[1] == '-') continue;
    const size_t end = word.find_first_of("cmWX", 1);
    if (end == std::string::npos) continue;
    if (word[end] == 'm') return {Kind::kModule, ""};
    const bool within = end + 1 < word.size();
    if (word[end] == 'c') {
      if (within) return {Kind::kCode, word.substr(end + 1)};
      return i + 1 < command.size() ? MainProgram{Kind::kCode, command[i + 1]}
                                    : MainProgram{};
    }
    if (!within) ++i;
  }
  return {};
}

bool leaves_module(std::string_view source, int line) {
  std::vector<Statement> statements;
  if (!Statements(source).read(statements)) return false;
  size_t inside = std::string_view::npos;
  for (auto one = statements.rbegin(); one != statements.rend(); ++one) {
    if (one->first > line) continue;
    if (inside == std::string_view::npos) {
      if (one->last < line) return false;  // no statement has this line
    } else if (one->indent >= inside) {
      continue;
    }
    if (may_catch(one->head)) return false;
    inside = one->indent;
    if (inside == 0) return true;
  }
  return false;
}

std::string to_text(const RaisedAt& raised) {
  return std::string(kRaised) + std::to_string(raised.pid) + " " +
         std::to_string(raised.line) + " " + raised.file + "\n";
}

std::vector<RaisedAt> raised_from_text(std::string_view text) {
  std::vector<RaisedAt> out;
  for (std::string_view row : split(text, '\n')) {
    if (!row.starts_with(kRaised)) continue;
    row.remove_prefix(kRaised.size());
    const size_t second = row.find(' ');
    if (second == std::string_view::npos) continue;
    const size_t third = row.find(' ', second + 1);
    if (third == std::string_view::npos) continue;
    const auto pid = parse_integer(row.substr(0, second));
    const auto line = parse_integer(row.substr(second + 1, third - second - 1));
    if (!pid || !line || *pid < 1 || *line < 1) continue;
    out.push_back({static_cast<pid_t>(*pid), static_cast<int>(*line),
                   std::string(row.substr(third + 1))});
  }
  return out;
}

bool is_uncaught(const RaisedAt& raised) {
  const auto& [pid, line, file] = raised;
  const auto text =
      read_file("/proc/" + std::to_string(pid) + "/cmdline", 4 << 20);
  if (!text) return false;
  std::vector<std::string> command;
  for (const std::string_view word : split(*text, '\0')) {
    command.emplace_back(word);
  }
  const MainProgram program = main_program(command);
  using Kind = MainProgram::Kind;
  // It begins in the interpreter's own code that runs modules, which catches
  // nothing.
  if (file == "<frozen runpy>" || file.ends_with("/runpy.py")) {
    return program.kind == Kind::kModule;
  }
  if (program.kind == Kind::kCode) {
    return file == "<string>" && leaves_module(program.text, line);
  }
  if (program.kind != Kind::kScript) return false;
  std::string script = program.text;
  while (script.starts_with("./")) script.erase(0, 2);
  if (file != script && !file.ends_with("/" + script)) return false;
  const auto source = read_file(file, kMostSource);
  return source && leaves_module(*source, line);
}

}  // namespace muster
