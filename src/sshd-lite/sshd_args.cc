// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sshd_args.h"

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kPlainFlags = "46DdeGiqTtV";
constexpr std::string_view kValueFlags = "CEbcfghkopu";
constexpr size_t kMaxConfigLine = 8192;
constexpr std::string_view kConfigDirectory = "/etc/ssh/";

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

// "inet" and "inet6" leave the other family's addresses alone.
void take_family(std::string_view text, SshdConfig& config) {
  if (!config.address.empty()) return;
  const std::string family = to_lower(text);
  if (family == "inet") config.address = "0.0.0.0";
  if (family == "inet6") config.address = "::";
}

void take_honoured(std::string_view keyword,
                   const std::vector<std::string_view>& values,
                   const std::string& where, SshdConfig& config) {
  const std::string name = to_lower(keyword);
  if (values.empty()) {
    config.problems.push_back(where + ": " + std::string(keyword) +
                              " has no value");
  } else if (name == "port") {
    const auto port = to_port(values[0]);
    if (!port) {
      config.problems.push_back(where + ": Port " + printable(values[0], 20) +
                                " is not a number from 1 to 65535");
    } else if (!config.port) {
      config.port = port;
    }
  } else if (name == "listenaddress") {
    take_address(values[0], config);
  } else if (name == "addressfamily") {
    take_family(values[0], config);
  } else if (name == "strictmodes") {
    if (!config.strict_modes) config.strict_modes = to_lower(values[0]) != "no";
  } else if (name == "hostkey") {
    config.host_keys.emplace_back(values[0]);
  } else if (config.authorized_keys.empty()) {
    for (const auto value : values) {
      config.authorized_keys.emplace_back(value);
    }
  }
}

std::string_view unquote(std::string_view word) {
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"') {
    return word.substr(1, word.size() - 2);
  }
  return word;
}

struct ConfigLine {
  std::string_view keyword;
  std::string_view rest;
  std::vector<std::string_view> values;
};

// "Keyword value", "Keyword=value", "Keyword = value".
ConfigLine split_line(std::string_view line) {
  ConfigLine out;
  const size_t end = line.find_first_of(" \t=");
  out.keyword = line.substr(0, end);
  out.rest = end == std::string_view::npos ? "" : trim(line.substr(end));
  if (out.rest.starts_with('=')) out.rest = trim(out.rest.substr(1));
  for (const auto word : split_words(out.rest)) {
    if (word.starts_with('#')) break;
    out.values.push_back(unquote(word));
  }
  return out;
}

// Anything but Include and Match.
void take_line(const ConfigLine& line, const std::string& where, bool in_match,
               SshdConfig& config) {
  const std::string name = to_lower(line.keyword);
  const KeywordKind kind = keyword_kind(name);
  const bool to_nobody = name == "authorizedkeysfile" && !line.values.empty() &&
                         to_lower(line.values[0]) == "none";
  if (kind == KeywordKind::kHonoured && !in_match && !to_nobody) {
    return take_honoured(line.keyword, line.values, where, config);
  }
  if (kind == KeywordKind::kHarmless) {
    config.ignored.push_back(where + ": " + printable(line.keyword, 40));
    return;
  }
  if (to_nobody && !in_match && !config.authorized_keys.empty()) return;
  AccessLimit limit{where, printable(line.keyword, 40), {}, in_match};
  for (const auto value : line.values) limit.values.emplace_back(value);
  config.limits.push_back(std::move(limit));
}

// A file and those that it includes, as one text.
class ConfigReader {
 public:
  explicit ConfigReader(const ReadIncluded& included) : included_(included) {}

  Status read(std::string_view text, const std::string& source, int depth) {
    size_t number = 0;
    for (std::string_view line : split(text, '\n')) {
      ++number;
      line = trim(line);
      if (line.empty() || line[0] == '#') continue;
      const std::string where = source + ":" + std::to_string(number);
      if (line.size() > kMaxConfigLine) {
        return usage(where + ": the line is longer than 8 KiB");
      }
      const ConfigLine words = split_line(line);
      const std::string name = to_lower(words.keyword);
      if (name == "match") {
        in_match_ = words.values.empty() || to_lower(words.values[0]) != "all";
      } else if (name != "include") {
        take_line(words, where, in_match_, config_);
      } else if (const auto read = include(words, where, depth); !read) {
        return read;
      }
    }
    return {};
  }

  [[nodiscard]] SshdConfig take() { return std::move(config_); }

 private:
  Status include(const ConfigLine& line, const std::string& where, int depth) {
    constexpr int kMostDepth = 16;  // as sshd's
    constexpr int kMostFiles = 256;
    if (depth == kMostDepth)
      return usage(where + ": too many files include each other");
    for (const std::string_view value : line.values) {
      const std::string pattern =
          value.starts_with('/')
              ? std::string(value)
              : std::string(kConfigDirectory) + std::string(value);
      for (const ConfigFile& file : included_(pattern)) {
        if (++files_ > kMostFiles) return usage(where + ": too many files");
        if (!file.text) return usage(where + ": " + file.text.error().text());
        // A Match in there ends with the file.
        const bool before = in_match_;
        const auto read = this->read(*file.text, file.path, depth + 1);
        in_match_ = before;
        if (!read) return read;
      }
    }
    return {};
  }

  const ReadIncluded& included_;
  SshdConfig config_;
  int files_ = 0;
  bool in_match_ = false;
};

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
      take_line(split_line(trim(value)), "-o", false, out.given);
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
        if (flag == '4') take_family("inet", out.given);
        if (flag == '6') take_family("inet6", out.given);
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

Result<SshdConfig> parse_sshd_config(std::string_view text,
                                     const std::string& source,
                                     const ReadIncluded& included) {
  ConfigReader reader(included);
  if (auto read = reader.read(text, source, 0); !read) {
    return tl::unexpected(read.error());
  }
  return reader.take();
}

SshdConfig merge(SshdConfig first, const SshdConfig& second) {
  if (!first.port) first.port = second.port;
  if (first.address.empty()) first.address = second.address;
  if (first.host_keys.empty()) first.host_keys = second.host_keys;
  if (first.authorized_keys.empty()) {
    first.authorized_keys = second.authorized_keys;
  }
  for (const auto& note : second.ignored) first.ignored.push_back(note);
  for (const auto& limit : second.limits) first.limits.push_back(limit);
  if (!first.strict_modes) first.strict_modes = second.strict_modes;
  for (const auto& note : second.problems) first.problems.push_back(note);
  return first;
}

std::string resolve_key_file(std::string_view name, const KeyFileOwner& owner) {
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
      out += owner.home;
    } else if (token == 'u' && !owner.user.empty()) {
      out += owner.user;
    } else if (token == 'U') {
      out += std::to_string(owner.uid);
    } else {
      return {};
    }
  }
  return out.starts_with('/') ? out : owner.home + "/" + out;
}

}  // namespace muster
