// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/authorized_keys.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxLine = 16 * 1024;
constexpr size_t kMaxIgnored = 16;  // sentences kept; the rest are counted

// All of them only forbid things that this server does not have.
constexpr std::array<std::string_view, 6> kHarmlessOptions = {
    "restrict",
    "no-pty",
    "no-user-rc",
    "no-x11-forwarding",
    "no-agent-forwarding",
    "no-port-forwarding"};

bool is_key_type(std::string_view word) {
  return word.starts_with("ssh-") || word.starts_with("ecdsa-") ||
         word.starts_with("sk-");
}

// End of the options word: the first blank outside double quotes.
size_t options_end(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '"') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (line[i] == ' ' || line[i] == '\t')) {
      return i;
    }
  }
  return line.size();
}

// The first option that cannot be honoured.
std::optional<std::string_view> foreign_option(std::string_view options) {
  for (const std::string_view option : split(options, ',')) {
    const std::string name = to_lower(option.substr(0, option.find('=')));
    const bool harmless =
        option.find('=') == std::string_view::npos &&
        std::find(kHarmlessOptions.begin(), kHarmlessOptions.end(), name) !=
            kHarmlessOptions.end();
    if (!harmless) return option.substr(0, option.find('='));
  }
  return std::nullopt;
}

Result<SshKey> parse_line(std::string_view line, const std::string& where) {
  if (line.size() > kMaxLine) {
    return fail(Error{
        "key_unusable", "line left out", "longer than 16 KiB", where, {}});
  }
  const auto first = split_words(line);
  if (!is_key_type(first[0])) {
    const size_t end = options_end(line);
    const auto foreign = foreign_option(line.substr(0, end));
    if (foreign) {
      return fail(Error{"key_unusable", "line left out",
                        "the option \"" + printable(*foreign, 40) +
                            "\" cannot be honoured here",
                        where, "remove the option or the line"});
    }
    line = trim(line.substr(end));
  }
  const auto words = split_words(line);
  if (words.size() < 2 || !is_key_type(words[0])) {
    return fail(Error{"key_unusable",
                      "line left out",
                      "no \"TYPE KEY\" pair in it",
                      where,
                      {}});
  }
  auto key = SshKey::parse_public(words[0], words[1], where);
  if (!key) key.error().what = "line left out";
  return key;
}

}  // namespace

AuthorizedKeys parse_authorized_keys(std::string_view text,
                                     const std::string& source) {
  AuthorizedKeys out;
  if (text.size() > kMaxAuthorizedKeysText) {
    out.ignored.push_back(source + ": left out: larger than 256 KiB");
    return out;
  }
  size_t number = 0;
  size_t left_out = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string where = source + ":" + std::to_string(number);
    if (out.keys.size() == kMaxAuthorizedKeys) {
      out.ignored.push_back(where + ": only the first 256 keys count");
      break;
    }
    auto key = parse_line(line, where);
    if (key) {
      out.keys.push_back(std::move(*key));
    } else if (++left_out <= kMaxIgnored) {
      out.ignored.push_back(key.error().text());
    }
  }
  if (left_out > kMaxIgnored) {
    out.ignored.push_back(source + ": " + std::to_string(left_out) +
                          " lines were left out in all");
  }
  return out;
}

}  // namespace muster
