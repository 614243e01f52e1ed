// SPDX-License-Identifier: Apache-2.0
#include "job/ssh_options.h"

#include <string_view>

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

// ssh(1): these take a value, in the same word or the next.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";
constexpr std::string_view kFlags = "1246AaCGgKkMNfnqsTtVvXxYy";
// They ask for features that this client and our server do not have.
constexpr std::string_view kRefused = "DGJLMNORQSWfsw";
constexpr int kMaxConnectSeconds = 3600;

tl::unexpected<Error> usage(const std::string& why) {
  return fail(Error{
      "usage",
      "this ssh line cannot be kept",
      why,
      {},
      "usage: muster ssh [-l USER] [-p PORT] [-i KEY] [-o NAME=VALUE] [-n] "
      "[-q] [USER@]HOST COMMAND…"});
}

Status take_number(const std::string& text, int most, const std::string& where,
                   int& out) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > most) {
    return usage(where + " " + printable(text, 40) +
                 " is not a number from 1 to " + std::to_string(most));
  }
  out = static_cast<int>(*number);
  return {};
}

// The first one given counts, as in ssh.
Status take_port(const std::string& text, const std::string& where,
                 SshArguments& out) {
  int port = 0;
  const auto taken = take_number(text, 65535, where, port);
  if (out.port == 0) out.port = port;
  return taken;
}

// "1M", "512K", "100000"; 0 without an amount ("default", "none 1h").
uint64_t rekey_limit(std::string_view text) {
  text = text.substr(0, text.find_first_of(" \t"));
  int shift = 0;
  if (!text.empty()) {
    const size_t unit =
        std::string_view("KMG").find(static_cast<char>(text.back() & ~0x20));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = parse_integer(text);
  constexpr int64_t kMost = 1 << 20;
  if (!number || *number < 1 || (shift > 0 && *number > kMost)) return 0;
  return static_cast<uint64_t>(*number) << shift;
}

// "Name=value", "Name value".
Status take_setting(std::string_view text, SshArguments& out) {
  text = trim(text);
  const size_t end = text.find_first_of(" \t=");
  const std::string name = to_lower(text.substr(0, end));
  std::string_view value =
      end == std::string_view::npos ? "" : trim(text.substr(end));
  if (value.starts_with('=')) value = trim(value.substr(1));
  const std::string given(value);
  if (name == "user") {
    if (out.user.empty()) out.user = given;
  } else if (name == "port") {
    return take_port(given, "-o Port", out);
  } else if (name == "identityfile") {
    out.identity_files.push_back(given);
  } else if (name == "connecttimeout") {
    if (given == "none" || given == "0") return {};
    // "10" and "10s", as sshd_config(5) has times.
    const auto time = parse_duration_ms(given);
    const bool whole = time && *time % 1000 == 0;
    return take_number(whole ? std::to_string(*time / 1000) : given,
                       kMaxConnectSeconds, "-o ConnectTimeout",
                       out.connect_seconds);
  } else if (name == "rekeylimit") {
    out.rekey_bytes = rekey_limit(given);
  } else if (name == "musterpinhostkey") {
    out.pin_host_key = given != "no";
  }
  return {};  // StrictHostKeyChecking=no and the like: the pin stands
}

Status take_value(char option, const std::string& value, SshArguments& out) {
  switch (option) {
    case 'l':
      if (out.user.empty()) out.user = value;
      return {};
    case 'p':
      return take_port(value, "-p", out);
    case 'i':
      out.identity_files.push_back(value);
      return {};
    case 'F':
      out.config_file = value;
      return {};
    case 'o':
      return take_setting(value, out);
    default:
      return {};
  }
}

void take_flag(char option, SshArguments& out) {
  if (option == 'n') out.no_stdin = true;
  if (option == 'v') out.verbose = true;
  if (option == 'V') out.version = true;
}

// One word of options, e.g. "-xqp22"; `at` may move to its value.
Status take_word(const std::vector<std::string>& args, size_t& at,
                 SshArguments& out) {
  const std::string& word = args[at];
  for (size_t i = 1; i < word.size(); ++i) {
    const char option = word[i];
    if (kRefused.find(option) != kRefused.npos) {
      return usage(std::string("-") + option +
                   " is not possible: there are commands and nothing else");
    }
    if (kFlags.find(option) != kFlags.npos) {
      take_flag(option, out);
      continue;
    }
    if (kWithValue.find(option) == kWithValue.npos) {
      return usage("unknown option -" + printable(word.substr(i, 1), 1));
    }
    std::string value = word.substr(i + 1);
    if (value.empty()) {
      if (++at == args.size()) {
        return usage(std::string("option -") + option + " needs a value");
      }
      value = args[at];
    }
    return take_value(option, value, out);
  }
  return {};
}

// Takes the options at args[at]; leaves `at` behind them.
Status take_options(const std::vector<std::string>& args, size_t& at,
                    SshArguments& out) {
  for (; at < args.size(); ++at) {
    const std::string& word = args[at];
    if (word == "--") {
      ++at;
      return {};
    }
    if (word.size() < 2 || word[0] != '-') return {};
    if (const auto taken = take_word(args, at, out); !taken) return taken;
  }
  return {};
}

Status take_host(std::string host, SshArguments& out) {
  const bool is_url = host.starts_with("ssh://");
  if (is_url) host.erase(0, 6);
  if (const size_t at = host.rfind('@'); at != std::string::npos) {
    if (out.user.empty()) out.user = host.substr(0, at);
    host.erase(0, at + 1);
  }
  if (host.starts_with('[') && host.find(']') != std::string::npos) {
    const size_t close = host.find(']');
    const std::string rest = host.substr(close + 1);
    host = host.substr(1, close - 1);
    if (rest.starts_with(':')) {
      const auto taken = take_port(rest.substr(1), "port", out);
      if (!taken) return taken;
    }
  }
  if (const size_t colon = host.find(':');
      is_url && colon != std::string::npos && colon == host.rfind(':')) {
    const auto taken = take_port(host.substr(colon + 1), "port", out);
    if (!taken) return taken;
    host.erase(colon);
  }
  while (host.ends_with('.')) host.pop_back();
  if (host.empty() || host[0] == '-' || printable(host, 256) != host) {
    return usage("\"" + printable(host, 40) + "\" is not a host name");
  }
  out.host = std::move(host);
  return {};
}

}  // namespace

Result<SshArguments> parse_ssh_arguments(const std::vector<std::string>& args) {
  SshArguments out;
  size_t at = 0;
  if (auto taken = take_options(args, at, out); !taken) {
    return tl::unexpected(taken.error());
  }
  if (out.version) return out;
  if (at == args.size()) return usage("no host given");
  const std::string host = args[at++];
  // ssh also takes options between host and command.
  if (auto taken = take_options(args, at, out); !taken) {
    return tl::unexpected(taken.error());
  }
  if (auto taken = take_host(host, out); !taken) {
    return tl::unexpected(taken.error());
  }
  const auto first = args.begin() + static_cast<std::ptrdiff_t>(at);
  out.command = join(std::vector<std::string>(first, args.end()), " ");
  if (trim(out.command).empty()) {
    return usage("no command given, and there are no interactive shells");
  }
  return out;
}

}  // namespace muster
