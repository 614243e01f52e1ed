// SPDX-License-Identifier: Apache-2.0
// One pass: at each start of a word looks into the table of token prefixes; at
// '=' and ':' at the name before; at "://" at the URL.
#include "logs/secret_shapes.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "job/base64.h"
#include "logs/masker.h"
#include "logs/secret_tokens.h"

namespace muster {

namespace {

using Alphabet = TokenAlphabet;

// The two letters with which a token may begin: one bit per pair of the low
// five bits, so that only few words of a text reach the table.
constexpr unsigned pair_of(char first, char second) {
  return (static_cast<unsigned>(first) & 0x1fU) << 5U |
         (static_cast<unsigned>(second) & 0x1fU);
}

constexpr std::array<bool, 1024> first_pairs() {
  std::array<bool, 1024> pairs{};
  for (const SecretToken& token : kSecretTokens) {
    pairs[pair_of(token.prefix[0], token.prefix[1])] = true;
  }
  pairs[pair_of('B', 'e')] = true;  // Bearer; case does not change the bits
  pairs[pair_of('B', 'a')] = true;  // Basic
  pairs[pair_of('A', 'u')] = true;  // Authorization: Token
  return pairs;
}
constexpr std::array<bool, 1024> kPairs = first_pairs();

constexpr size_t kNowhere = std::string_view::npos;

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z');
}

bool belongs(char c, Alphabet alphabet) {
  switch (alphabet) {
    case Alphabet::kUpperDigits:
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    case Alphabet::kAlnum:
      return is_alnum(c);
    case Alphabet::kWord:
      return is_alnum(c) || c == '_' || c == '-';
    case Alphabet::kDotted:
      return is_alnum(c) || c == '_' || c == '-' || c == '.';
    case Alphabet::kBase64:
      return is_alnum(c) || std::string_view("+/=_-").find(c) != kNowhere;
  }
  return false;
}

// Small and capital letters mixed more than names mix them: Hugging Face's
// tokens have no digits.
bool changes_case(std::string_view text) {
  constexpr int kMost = 4;
  int changes = 0;
  for (size_t at = 1; at < text.size(); ++at) {
    const char both = static_cast<char>(text[at] ^ text[at - 1]);
    if ((both & 0x20) != 0 && is_alnum(text[at]) && is_alnum(text[at - 1])) {
      ++changes;
    }
  }
  return changes > kMost;
}

// Letters and digits mixed: not a word of a language, not a number.
bool looks_random(std::string_view text) {
  bool letter = false;
  bool number = false;
  for (const char c : text) {
    const bool is_number = c >= '0' && c <= '9';
    number |= is_number;
    letter |= is_alnum(c) && !is_number;
  }
  return letter && number;
}

// Letters and digits one after the other more than in names with numbers, or
// capitals and small letters so.
bool is_mixed(std::string_view text) {
  constexpr int kLeast = 3;
  int turns = 0;
  for (size_t at = 1; at < text.size(); ++at) {
    if (!is_alnum(text[at]) || !is_alnum(text[at - 1])) continue;
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digit(text[at]) != digit(text[at - 1])) ++turns;
  }
  return turns >= kLeast || (looks_random(text) && changes_case(text));
}

bool may_name_login(std::string_view name) {
  return name.ends_with("auth") || name.ends_with("AUTH");
}

// Of an HTTP header.
bool is_authorization(std::string_view name) {
  return to_lower(name).ends_with("authorization");
}

// In a log "pass: …" is mostly a test's result, "key: …" anything.
bool is_common_word(std::string_view name) {
  const std::string word = to_lower(name);
  return word == "pass" || word == "pw" || word == "auth" || word == "bearer";
}

// Programs that take a login, or a password alone, behind a short option. The
// word stands somewhere before it.
struct ShortFlag {
  std::string_view program;
  char flag;
  bool is_login;  // USER:PASSWORD
};
constexpr std::array<ShortFlag, 5> kShortFlags = {{{"curl", 'u', true},
                                                   {"curl", 'U', true},
                                                   {"sshpass", 'p', false},
                                                   {" login", 'p', false},
                                                   {"redis-cli", 'a', false}}};

// Base64 of USER:PASSWORD.
bool is_login(std::string_view value) {
  const auto bytes = base64_decode(value);
  return bytes && bytes->find(':') != kNowhere &&
         std::all_of(bytes->begin(), bytes->end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

class Scanner {
 public:
  Scanner(std::string_view line, std::vector<SecretSpan>& spans)
      : line_(line), spans_(spans) {}

  void scan() {
    bool flag = false;  // the word that goes on here began with "--"
    for (size_t at = 0; at < line_.size(); ++at) {
      const char c = line_[at];
      if (at + 1 < line_.size() && kPairs[pair_of(c, line_[at + 1])] &&
          starts_word(at)) {
        const size_t end = token_at(at);
        if (end > at) at = end - 1;
      } else if (c == '=' || c == ':') {
        after_name(at);
        if (line_.substr(at).starts_with("://")) url_at(at + 3);
      } else if (c == '-') {
        flag |= at > 0 && line_[at - 1] == '-';
        if (at > 0 && line_[at - 1] == ' ') short_flag_at(at + 1);
      } else if (c == ' ') {
        if (flag) after_flag(at);
        flag = false;
        netrc_at(at);
      }
    }
  }

 private:
  // Behind anything but a letter or digit, or behind a colour ("\x1b[31m").
  [[nodiscard]] bool starts_word(size_t at) const {
    if (at == 0 || !is_alnum(line_[at - 1])) return true;
    if (line_[at - 1] != 'm') return false;
    size_t begin = at - 1;
    while (begin > 0 && ((line_[begin - 1] >= '0' && line_[begin - 1] <= '9') ||
                         line_[begin - 1] == ';')) {
      --begin;
    }
    return begin >= 2 && line_[begin - 1] == '[' && line_[begin - 2] == '\x1b';
  }

  void add(size_t begin, size_t end) {
    if (end > begin) spans_.push_back({begin, end});
  }

  size_t run(size_t at, Alphabet alphabet) const {
    while (at < line_.size() && belongs(line_[at], alphabet)) ++at;
    return at;
  }

  // The end of the token that starts here; `at` if there is none.
  size_t token_at(size_t at) {
    const std::string_view rest = line_.substr(at);
    for (const SecretToken& token : kSecretTokens) {
      if (!rest.starts_with(token.prefix)) continue;
      const size_t body = at + token.prefix.size();
      const size_t end = run(body, token.alphabet);
      const size_t length = end - body;
      if (length < token.least || (token.most > 0 && length > token.most)) {
        continue;
      }
      const std::string_view text = line_.substr(at, end - at);
      if (token.prefix == "eyJ" &&
          std::count(text.begin(), text.end(), '.') != 2) {
        continue;
      }
      // An AWS key id has no digit in one of thirty; its length is telling.
      const std::string_view behind = line_.substr(body, length);
      if (token.alphabet != Alphabet::kUpperDigits && !looks_random(behind) &&
          !changes_case(behind)) {
        continue;
      }
      add(at, end);
      return end;
    }
    return authorization_at(at);
  }

  // "Bearer TOKEN", "Basic TOKEN".
  size_t authorization_at(size_t at) {
    const std::string_view rest = line_.substr(at);
    size_t body = 0;
    for (const std::string_view word : kAuthorizationSchemes) {
      if (rest.starts_with(word)) body = at + word.size();
    }
    if (body == 0) return at;
    size_t end = body;
    while (end < line_.size() &&
           (belongs(line_[end], Alphabet::kDotted) || line_[end] == '+' ||
            line_[end] == '/' || line_[end] == '=' || line_[end] == '~')) {
      ++end;
    }
    const std::string_view value = line_.substr(body, end - body);
    if (value.size() < 16 || !looks_random(value)) return at;
    add(body, end);
    return end;
  }

  // NAME=value, "name": "value", name: value
  void after_name(size_t at) {
    if (at + 1 >= line_.size() || line_.substr(at).starts_with("://")) return;
    const std::string_view name = name_before(line_, at);
    if (name.size() < 2) return;
    if (flag_takes_login(name)) return login_at(at + 1);
    if (!may_name_secret(name)) return;
    if (is_authorization(name)) return header_at(at + 1);
    if (line_[at] == ':' && is_common_word(name) && !may_name_login(name)) {
      return;
    }
    // "/etc/passwd: Permission denied"
    const auto begin = static_cast<size_t>(name.data() - line_.data());
    if (name == "passwd" && begin > 0 && line_[begin - 1] == '/') return;
    value_at(at + 1, name, line_[at] == '=');
  }

  // --password VALUE
  void after_flag(size_t at) {
    std::string_view name = name_before(line_, at);
    const size_t dashes = name.find("--");  // a colour may stand before it
    if (dashes == std::string_view::npos) return;
    if (flag_takes_login(name)) return login_at(at);
    name.remove_prefix(dashes + 2);
    if (!is_secret_name(name)) return;
    value_at(at + 1, name, true);
  }

  // The end of the word at `at`, which has no quotes around it.
  [[nodiscard]] size_t word_end(size_t at) const {
    return std::min(line_.find_first_of(" \t\r\"'", at), line_.size());
  }

  [[nodiscard]] bool is_before(std::string_view word, size_t at) const {
    return line_.substr(0, at).find(word) != kNowhere;
  }

  // --user, --proxy-user of curl.
  [[nodiscard]] bool flag_takes_login(std::string_view name) const {
    return (name.ends_with("--user") || name.ends_with("--proxy-user")) &&
           is_before("curl ", static_cast<size_t>(name.data() - line_.data()));
  }

  // -u USER:PASSWORD, -uUSER:PASSWORD
  void short_flag_at(size_t at) {
    if (at >= line_.size()) return;
    for (const ShortFlag& one : kShortFlags) {
      if (line_[at] != one.flag || !is_before(one.program, at)) continue;
      if (one.is_login) return login_at(at + 1);
      const size_t begin = skip_quotes(at + 1);
      // Else it may be another option's first letter.
      if (begin == at + 1 && one.program != "sshpass") return;
      return add(begin, word_end(begin));
    }
  }

  [[nodiscard]] size_t skip_quotes(size_t at) const {
    return std::min(line_.find_first_not_of(" =\"'\\", at), line_.size());
  }

  void login_at(size_t at) {
    const size_t begin = skip_quotes(at);
    const size_t end = word_end(begin);
    const size_t colon = line_.substr(0, end).find(':', begin);
    if (colon != kNowhere) add(colon + 1, end);
  }

  // machine HOST login NAME password VALUE; the last two also on their own line
  void netrc_at(size_t blank) {
    const std::string_view before = line_.substr(0, blank);
    const bool named =
        before.ends_with("password") || before.ends_with("passwd");
    if (!named) return;
    const size_t begin = before.rfind('p');
    if (begin > 0 && line_[begin - 1] != ' ' && line_[begin - 1] != '\t') {
      return;
    }
    const size_t value = skip_quotes(blank);
    const size_t end = word_end(value);
    const bool alone = trim(line_.substr(0, begin)).empty() &&
                       trim(line_.substr(end)).empty() &&
                       looks_random(line_.substr(value, end - value));
    if (alone || is_before("login ", begin) || is_before("machine ", begin)) {
      add(value, end);
    }
  }

  // Authorization: SCHEME VALUE
  void header_at(size_t at) {
    const auto in_value = [](char c) {
      return belongs(c, Alphabet::kBase64) || c == '.' || c == '~';
    };
    size_t begin = skip_quotes(at);
    size_t end = begin;
    while (end < line_.size() && in_value(line_[end])) ++end;
    if (end < line_.size() && line_[end] == ' ' && end > begin) {
      begin = end + 1;
      end = begin;
      while (end < line_.size() && in_value(line_[end])) ++end;
      constexpr size_t kLeast = 4;
      if (end - begin >= kLeast && is_scheme(begin - 1)) add(begin, end);
      return;
    }
    const std::string_view value = line_.substr(begin, end - begin);
    if (value.size() >= 8 && looks_random(value)) add(begin, end);
  }

  [[nodiscard]] bool is_scheme(size_t end) const {
    const std::string_view before = line_.substr(0, end);
    const std::string word =
        to_lower(before.substr(before.find_last_of(" :=\"'") + 1));
    return word == "bearer" || word == "basic" || word == "token" ||
           word == "apikey" || word == "digest" || word == "negotiate";
  }

  void value_at(size_t at, std::string_view name, bool close) {
    const size_t blanks = at;
    while (at < line_.size() && line_[at] == ' ') ++at;
    if (at - blanks > 1) close = false;
    // In a text of JSON that is a value of JSON itself: \"name\": \"value\".
    const bool nested = at + 1 < line_.size() && line_[at] == '\\' &&
                        (line_[at + 1] == '"' || line_[at + 1] == '\'');
    if (nested) ++at;
    char quote = '\0';
    if (at < line_.size() && (line_[at] == '"' || line_[at] == '\'')) {
      quote = line_[at++];
    }
    size_t end = at;
    while (end < line_.size()) {
      const char c = line_[end];
      if (nested && c == '\\') break;
      if (quote != '\0' && c == '\\' && end + 1 < line_.size()) {
        end += 2;
        continue;
      }
      if (quote != '\0' ? c == quote
                        : c == ' ' || c == ',' || c == ';' || c == '"' ||
                              c == '\'' || c == ')' || c == '}' || c == '&') {
        break;
      }
      ++end;
    }
    const std::string_view value = line_.substr(at, end - at);
    if (value.starts_with("***") || value.starts_with("[masked")) return;
    if (is_told(name, value, close)) add(at, end);
  }

  // `close`: behind a '=', or a flag's.
  static bool is_told(std::string_view name, std::string_view value,
                      bool close) {
    constexpr size_t kLeast = 8;
    constexpr size_t kLeastPassword = 4;  // shorter ones are words of a text
    constexpr size_t kLeastKey = 12;
    if (may_name_login(name) && value.size() >= kLeast && is_login(value)) {
      return true;
    }
    switch (is_secret(name, value) ? secret_kind(name) : SecretKind::kNone) {
      case SecretKind::kPassword:
        return value.size() >= (close ? kLeastPassword : kLeast) &&
               (!is_common_word(name) ||
                value.find_first_not_of("0123456789./") != kNowhere);
      case SecretKind::kToken:
        return value.size() >= kLeast && looks_random(value);
      case SecretKind::kKey:
        return value.size() >= (close ? kLeast : kLeastKey) &&
               is_mixed(value) && !is_common_word(name);
      case SecretKind::kNone:
        break;
    }
    return false;
  }

  // user:password@host; a webhook's path
  void url_at(size_t at) {
    size_t colon = 0;
    if (const size_t path = secret_path(line_, at); path > 0) {
      size_t end = path;
      while (end < line_.size() &&
             (belongs(line_[end], Alphabet::kDotted) || line_[end] == '/' ||
              line_[end] == ':' || line_[end] == '@')) {
        ++end;
      }
      add(path, end);
      return;
    }
    for (size_t end = at; end < line_.size(); ++end) {
      const char c = line_[end];
      if (c == '@') {
        if (colon > 0) {
          // A password may have one as well: the last counts.
          const size_t stop =
              std::min(line_.find_first_of(" \t/\"'<>,;", end), line_.size());
          const size_t last = line_.substr(0, stop).rfind('@');
          add(colon + 1, last);
        } else if (end - at >= 20) {  // https://TOKEN@host
          add(at, end);
        }
        return;
      }
      if (c == ':' && colon == 0) colon = end;
      const bool goes_on =
          is_alnum(c) ||
          std::string_view("-._~%!$&*+,;=:").find(c) != std::string_view::npos;
      if (!goes_on) return;
    }
  }

  std::string_view line_;
  std::vector<SecretSpan>& spans_;
};

// The backslash is that of \"name\".
bool is_quote(char c) { return c == '"' || c == '\'' || c == '\\'; }

bool in_name(char c) { return is_alnum(c) || c == '_' || c == '-'; }

}  // namespace

size_t secret_path(std::string_view line, size_t at) {
  constexpr size_t kLongestHost = 64;  // a tenant's name stands before it
  const std::string_view begin = line.substr(at, kLongestHost + 32);
  for (const std::string_view address : kSecretAddresses) {
    const size_t found = begin.find(address);
    if (found <= kLongestHost && found < begin.find('/')) {
      return at + found + address.size();
    }
  }
  return 0;
}

std::string_view name_before(std::string_view line, size_t end) {
  for (size_t i = 0; i < kMostBlanks && end > 0 && line[end - 1] == ' '; ++i) {
    --end;
  }
  for (size_t i = 0; i < kMostQuotes && end > 0 && is_quote(line[end - 1]);
       ++i) {
    --end;
  }
  size_t begin = end;
  while (begin > 0 && in_name(line[begin - 1]) && end - begin < 64) --begin;
  return line.substr(begin, end - begin);
}

bool may_name_secret(std::string_view name) {
  return is_secret_name(name) || may_name_login(name) || is_authorization(name);
}

void find_secret_shapes(std::string_view line, std::vector<SecretSpan>& spans) {
  Scanner(line, spans).scan();
}

}  // namespace muster
