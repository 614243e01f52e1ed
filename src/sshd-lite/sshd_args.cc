// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sshd_args.h"

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kPlainFlags = "46DdeGiqTtV";
constexpr std::string_view kValueFlags = "CEbcfghkopu";
constexpr size_t kMaxConfigLine = 8192;

tl::unexpected<Error> usage(std::string why) {
  return fail(Error{"usage",
                    "cannot start as sshd",
                    std::move(why),
                    {},
                    "known: -D -e -d -q -t -4 -6 -V -f FILE -p PORT -h FILE "
                    "-o KEY=VALUE"});
}

std::optional<int> to_port(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  return static_cast<int>(*number);
}

// "1.2.3.4", "1.2.3.4:22", "[::1]:22", "::1"; "*" and the any-addresses mean
// every interface.
void take_address(std::string_view text, SshdConfig& config) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return;
    host = text.substr(1, close - 1);
    if (text.substr(close + 1).starts_with(':')) port = text.substr(close + 2);
  } else if (const size_t colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (const auto number = to_port(port); number && !config.port) {
    config.port = number;
  }
  const bool any = host == "*" || host == "0.0.0.0" || host == "::";
  if (!any && config.address.empty()) config.address = host;
}

// Takes one keyword; false if it is not one that is honoured.
bool take_keyword(std::string_view keyword,
                  const std::vector<std::string_view>& values,
                  const std::string& where, SshdConfig& config) {
  const std::string name = to_lower(keyword);
  if (name != "port" && name != "listenaddress" && name != "hostkey" &&
      name != "authorizedkeysfile") {
    return false;
  }
  if (values.empty()) {
    config.problems.push_back(where + ": " + std::string(keyword) +
                              " has no value");
    return true;
  }
  if (name == "port") {
    const auto port = to_port(values[0]);
    if (!port) {
      config.problems.push_back(where + ": Port " + printable(values[0], 20) +
                                " is not a number from 1 to 65535");
    } else if (!config.port) {
      config.port = port;
    }
  } else if (name == "listenaddress") {
    take_address(values[0], config);
  } else if (name == "hostkey") {
    config.host_keys.emplace_back(values[0]);
  } else if (config.authorized_keys.empty()) {
    for (const auto value : values) {
      config.authorized_keys.emplace_back(value);
    }
  }
  return true;
}

std::string_view unquote(std::string_view word) {
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"') {
    return word.substr(1, word.size() - 2);
  }
  return word;
}

// "Keyword value", "Keyword=value", "Keyword = value".
void take_line(std::string_view line, const std::string& where,
               SshdConfig& config) {
  const size_t end = line.find_first_of(" \t=");
  const std::string_view keyword = line.substr(0, end);
  std::string_view rest =
      end == std::string_view::npos ? "" : trim(line.substr(end));
  if (rest.starts_with('=')) rest = trim(rest.substr(1));
  std::vector<std::string_view> values;
  for (const auto word : split_words(rest)) {
    if (word.starts_with('#')) break;
    values.push_back(unquote(word));
  }
  if (to_lower(keyword) == "include") {
    config.includes.push_back(where + ": Include " + printable(rest, 100));
  } else if (!take_keyword(keyword, values, where, config)) {
    config.ignored.push_back(where + ": " + printable(keyword, 40));
  }
}

Status take_value_flag(char flag, const std::string& value, SshdArgs& out) {
  switch (flag) {
    case 'f':
      out.config_file = value;
      return {};
    case 'p': {
      const auto port = to_port(value);
      if (!port) return usage("-p " + value + " is not a port");
      if (!out.given.port) out.given.port = port;
      return {};
    }
    case 'h':
      out.given.host_keys.push_back(value);
      return {};
    case 'o':
      take_line(trim(value), "-o", out.given);
      return {};
    default:  // -C -E -b -c -g -k -u: nothing here for them to change
      out.given.ignored.push_back(std::string("-") + flag);
      return {};
  }
}

}  // namespace

Result<SshdArgs> parse_sshd_args(const std::vector<std::string>& args) {
  SshdArgs out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") {
      return usage("\"" + printable(word, 40) + "\" is not an option");
    }
    for (size_t j = 1; j < word.size(); ++j) {
      const char flag = word[j];
      if (kPlainFlags.find(flag) != std::string_view::npos) {
        if (flag == 'i') return usage("-i (inetd) is not supported");
        // -T and -G would print a configuration, too: none serves a port.
        if (flag == 't' || flag == 'T' || flag == 'G') out.test_only = true;
        if (flag == 'V') out.version = true;
        if (flag == 'd') out.debug = true;
        continue;
      }
      if (kValueFlags.find(flag) == std::string_view::npos) {
        return usage(std::string("-") + printable(word.substr(j, 1), 1) +
                     " is not an option of sshd");
      }
      std::string value = word.substr(j + 1);
      if (value.empty()) {
        if (++i == args.size()) {
          return usage(std::string("-") + flag + " needs a value");
        }
        value = args[i];
      }
      if (const auto taken = take_value_flag(flag, value, out); !taken) {
        return tl::unexpected(taken.error());
      }
      break;
    }
  }
  return out;
}

SshdConfig parse_sshd_config(std::string_view text, const std::string& source) {
  SshdConfig out;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string where = source + ":" + std::to_string(number);
    if (line.size() > kMaxConfigLine) {
      out.problems.push_back(where + ": line longer than 8 KiB left out");
      continue;
    }
    if (to_lower(line.substr(0, line.find_first_of(" \t"))) == "match") {
      out.ignored.push_back(where + ": Match and what follows");
      break;
    }
    take_line(line, where, out);
  }
  return out;
}

SshdConfig merge(SshdConfig first, const SshdConfig& second) {
  if (!first.port) first.port = second.port;
  if (first.address.empty()) first.address = second.address;
  if (first.host_keys.empty()) first.host_keys = second.host_keys;
  if (first.authorized_keys.empty()) {
    first.authorized_keys = second.authorized_keys;
  }
  for (const auto& note : second.ignored) first.ignored.push_back(note);
  for (const auto& note : second.includes) first.includes.push_back(note);
  for (const auto& note : second.problems) first.problems.push_back(note);
  return first;
}

std::string resolve_key_file(std::string_view name, const std::string& home) {
  if (name.empty() || to_lower(name) == "none") return {};
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      out += name[i];
      continue;
    }
    const char token = i + 1 < name.size() ? name[++i] : '\0';
    if (token == '%') {
      out += '%';
    } else if (token == 'h') {
      out += home;
    } else {
      return {};
    }
  }
  return out.starts_with('/') ? out : home + "/" + out;
}

}  // namespace muster
