// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/mpi_daemon_line.h"

#include <algorithm>
#include <array>

namespace muster {

namespace {

constexpr size_t kMaxLine = 64 * 1024;
constexpr size_t kMaxTokens = 2048;

constexpr std::array<std::string_view, 5> kDaemons = {
    "orted", "prted", "hydra_pmi_proxy", "pmi_proxy", "hydra_bstrap_proxy"};

// The variables that mpirun sets in front of a daemon. A daemon runs any
// program that its launcher names, so this list is about shape, not
// containment.
constexpr std::array<std::string_view, 7> kVariables = {
    "PATH",        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PRTE_PREFIX",
    "PMIX_PREFIX", "OPAL_PREFIX",     "I_MPI_ROOT"};

// ORTE sends this for a remote sh or ksh; muster does not read the profile.
constexpr std::array<std::string_view, 8> kProfile = {
    "test", "!", "-r", "./.profile", "||", ".", "./.profile", ";"};

struct Token {
  std::string text;
  bool is_sign = false;  // ; ( ) ||
  bool quoted = false;   // some of it stood in quotes
};

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') ||
         std::string_view("._/:=,@+-%^!${}").find(c) != std::string_view::npos;
}

// One quoted stretch that begins at line[i]; nullopt: a sign in it that a shell
// would act on, or no end.
std::optional<std::string_view> take_quoted(std::string_view line, size_t& i) {
  const char quote = line[i];
  const size_t end = line.find(quote, i + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = line.substr(i + 1, end - i - 1);
  if (quote == '"' && text.find_first_of("$`\\!") != text.npos) {
    return std::nullopt;
  }
  i = end + 1;
  return text;
}

std::optional<Token> take_word(std::string_view line, size_t& i) {
  Token out;
  while (i < line.size() && line[i] != ' ' && line[i] != ';' &&
         line[i] != ')') {
    if (line[i] == '"' || line[i] == '\'') {
      const auto text = take_quoted(line, i);
      if (!text) return std::nullopt;
      out.text += *text;
      out.quoted = true;
    } else if (is_word_char(line[i])) {
      out.text += line[i++];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::vector<Token>> tokens_of(std::string_view line) {
  std::vector<Token> out;
  for (size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (out.size() == kMaxTokens) return std::nullopt;
    if (c == ' ') {
      ++i;
    } else if (c == ';' || c == '(' || c == ')') {
      out.push_back({std::string(1, c), true, false});
      ++i;
    } else if (line.substr(i, 2) == "||") {
      out.push_back({"||", true, false});
      i += 2;
    } else {
      auto word = take_word(line, i);
      if (!word) return std::nullopt;
      out.push_back(std::move(*word));
    }
  }
  return out;
}

bool is_known_variable(std::string_view name) {
  return std::find(kVariables.begin(), kVariables.end(), name) !=
         kVariables.end();
}

// "NAME=/x", "NAME=/x:$NAME", "NAME=/x:${NAME:-}".
std::optional<EnvChange> as_assignment(const Token& token) {
  if (token.is_sign) return std::nullopt;
  const size_t equals = token.text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  EnvChange out;
  out.name = token.text.substr(0, equals);
  out.value = token.text.substr(equals + 1);
  if (!is_known_variable(out.name)) return std::nullopt;
  for (const std::string& old :
       {":$" + out.name, ":${" + out.name + ":-}", ":${" + out.name + "}"}) {
    if (!out.value.ends_with(old)) continue;
    out.value.resize(out.value.size() - old.size());
    out.keeps_old = true;
    break;
  }
  if (out.value.find('$') != std::string::npos) return std::nullopt;
  return out;
}

bool names_daemon(std::string_view word) {
  const size_t slash = word.rfind('/');
  if (slash != std::string_view::npos && !word.starts_with('/')) return false;
  if (word.find("/../") != std::string_view::npos) return false;
  const std::string_view name =
      slash == std::string_view::npos ? word : word.substr(slash + 1);
  return std::find(kDaemons.begin(), kDaemons.end(), name) != kDaemons.end();
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::optional<MpiDaemonLine> parse() {
    const bool in_group = take("(");
    take_profile();
    while (take_statement()) {
    }
    for (; at_ < tokens_.size() && !tokens_[at_].is_sign; ++at_) {
      const Token& token = tokens_[at_];
      if (!token.quoted && token.text.find('$') != std::string::npos) {
        return std::nullopt;
      }
      out_.argv.push_back(token.text);
    }
    take(";");
    if (in_group && !take(")")) return std::nullopt;
    if (at_ != tokens_.size() || out_.argv.empty() ||
        !names_daemon(out_.argv[0])) {
      return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  bool take(std::string_view sign) {
    if (at_ == tokens_.size() || !tokens_[at_].is_sign ||
        tokens_[at_].text != sign) {
      return false;
    }
    ++at_;
    return true;
  }

  void take_profile() {
    if (tokens_.size() - at_ < kProfile.size()) return;
    for (size_t i = 0; i < kProfile.size(); ++i) {
      if (tokens_[at_ + i].text != kProfile[i]) return;
    }
    at_ += kProfile.size();
  }

  // `NAME=value ;`, `export NAME ;`, `export NAME=value ;`, or `NAME=value`
  // right before the daemon.
  bool take_statement() {
    if (at_ == tokens_.size() || tokens_[at_].is_sign) return false;
    const size_t begin = at_;
    const bool exported = tokens_[at_].text == "export";
    if (exported) ++at_;
    if (at_ < tokens_.size()) {
      if (auto change = as_assignment(tokens_[at_])) {
        ++at_;
        take(";");
        out_.changes.push_back(std::move(*change));
        return true;
      }
      if (exported && is_known_variable(tokens_[at_].text)) {
        ++at_;
        if (take(";")) return true;
      }
    }
    at_ = begin;
    return false;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  MpiDaemonLine out_;
};

}  // namespace

std::optional<MpiDaemonLine> parse_mpi_daemon_line(std::string_view command) {
  if (command.size() > kMaxLine) return std::nullopt;
  const bool printable =
      std::all_of(command.begin(), command.end(),
                  [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable) return std::nullopt;
  auto tokens = tokens_of(command);
  if (!tokens) return std::nullopt;
  return Parser(std::move(*tokens)).parse();
}

}  // namespace muster
