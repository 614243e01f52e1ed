// SPDX-License-Identifier: Apache-2.0
// One grammar covers all dialects: HOST[:COUNT[:DEVICE]] followed by words
// KEY=VALUE, of which slots and max_slots are ours and the known rest (login,
// interface, binding of one MPI) is accepted and ignored. Pure.
#include "job/hostfile.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

// The part of a line that a message may echo.
std::string excerpt(std::string_view text) { return printable(text, 60); }

// The place of an entry, for every error about it.
struct Place {
  std::string source;
  int line = 0;
  std::string_view text;
  bool in_list = false;  // of a command line

  [[nodiscard]] tl::unexpected<Error> wrong(const char* code, std::string why,
                                            std::string hint) const {
    return fail(Error{code, "bad host entry \"" + excerpt(text) + "\"",
                      std::move(why), source + ":" + std::to_string(line),
                      std::move(hint)});
  }
};

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '-' ||
         character == '_' || character == '.';
}

bool is_count(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<int> parse_slots(std::string_view text, const Place& place) {
  const auto count = parse_integer(text);
  if (!count && !is_count(text)) {
    return place.wrong("hostfile_slots",
                       "\"" + excerpt(text) + "\" is not a number of slots",
                       "Write a whole number from 1 to 65536.");
  }
  if (!count || *count < 1 || *count > kMaxSlots) {
    return place.wrong("hostfile_slots",
                       excerpt(text) + " slots are outside 1 to 65536",
                       "Give each host the number of ranks it may run; remove "
                       "hosts that run none.");
  }
  return static_cast<int>(*count);
}

// HOST as it stands before any word: name, and what follows its colon.
struct HostPart {
  std::string_view name;
  std::optional<std::string_view> count;
};

Result<HostPart> split_bracketed(std::string_view word, const Place& place) {
  const size_t close = word.find(']');
  const std::string hint = "Write an IPv6 address as [fd00::1]:4.";
  if (close == std::string_view::npos) {
    return place.wrong("hostfile_syntax", "the bracket is not closed", hint);
  }
  HostPart part;
  part.name = word.substr(1, close - 1);
  const std::string_view rest = word.substr(close + 1);
  if (!is_ip_address(part.name) || (!rest.empty() && rest[0] != ':')) {
    return place.wrong("hostfile_syntax",
                       "the brackets do not hold an IPv6 address", hint);
  }
  if (!rest.empty()) part.count = rest.substr(1);
  return part;
}

Result<HostPart> split_host(std::string_view word, const Place& place) {
  const size_t at = word.rfind('@');
  if (at != std::string_view::npos) word.remove_prefix(at + 1);
  if (word.starts_with('[')) return split_bracketed(word, place);
  if (is_ip_address(word)) return HostPart{word, std::nullopt};
  HostPart part;
  const size_t colon = word.find(':');
  part.name = word.substr(0, colon);
  if (colon != std::string_view::npos) {
    std::string_view count = word.substr(colon + 1);
    // MVAPICH2 allows host:count:device; the device is its own business.
    const size_t device = count.find(':');
    if (device != std::string_view::npos) count = count.substr(0, device);
    part.count = count;
  }
  const bool clean =
      std::all_of(part.name.begin(), part.name.end(), is_name_character);
  if (part.name.empty() || !clean || part.name[0] == '-' ||
      part.name[0] == '.') {
    return place.wrong("hostfile_syntax",
                       "\"" + excerpt(part.name) + "\" is not a host name",
                       "Write one host per line: NAME slots=N, or NAME:N.");
  }
  if (part.name.size() > kMaxHostName) {
    return place.wrong("hostfile_syntax",
                       "the name has " + std::to_string(part.name.size()) +
                           " characters, more than the 253 that DNS allows",
                       "");
  }
  return part;
}

// Words that some MPI understands and muster ignores.
bool is_foreign_key(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kKeys = {
      "user",  "ifname", "binding", "map",
      "login", "weight", "boards",  "socket"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

Status apply_word(std::string_view word, HostEntry& entry, const Place& place) {
  const size_t equals = word.find('=');
  const std::string key = to_lower(word.substr(0, equals));
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value =
      has_value ? word.substr(equals + 1) : std::string_view();
  if (has_value && (key == "slots" || key == "slot" || key == "count" ||
                    key == "cpu" || key == "cpus")) {
    if (entry.slots_given) {
      return place.wrong("hostfile_slots", "the line gives two slot counts",
                         "Keep one of them.");
    }
    const Result<int> slots = parse_slots(value, place);
    if (!slots) return fail(slots.error());
    entry.slots = *slots;
    entry.slots_given = true;
    return {};
  }
  if (has_value &&
      (key == "max_slots" || key == "max-slots" || key == "slots_max")) {
    const Result<int> slots = parse_slots(value, place);
    if (!slots) return fail(slots.error());
    entry.max_slots = *slots;
    return {};
  }
  if (has_value && is_foreign_key(key)) return {};
  return place.wrong("hostfile_syntax",
                     "do not understand \"" + excerpt(word) + "\"",
                     "Write one host per line: NAME slots=N, or NAME:N.");
}

// "slots = 4", which Open MPI accepts, becomes "slots=4".
std::vector<std::string> join_equals(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;  // the last word waits for its value
  for (const std::string_view word : split_words(text)) {
    if (!words.empty() && (open || word.starts_with('='))) {
      words.back() += word;
    } else {
      words.emplace_back(word);
    }
    open = word.ends_with('=');
  }
  return words;
}

Result<HostEntry> parse_entry(const Place& place) {
  for (const char character : place.text) {
    const auto code = static_cast<unsigned char>(character);
    if (code == 0x7f || (code < 0x20 && character != '\t')) {
      return place.wrong("hostfile_syntax", "the line has control characters",
                         "Is this file a hostfile?");
    }
  }
  const std::vector<std::string> words = join_equals(place.text);
  const Result<HostPart> host = split_host(words.front(), place);
  if (!host) return fail(host.error());
  HostEntry entry;
  entry.name = std::string(host->name);
  entry.line = place.line;
  if (host->count == "*" && place.in_list) {
    entry.all_slots = true;
  } else if (host->count) {
    const Result<int> slots = parse_slots(*host->count, place);
    if (!slots) return fail(slots.error());
    entry.slots = *slots;
    entry.slots_given = true;
  }
  for (size_t i = 1; i < words.size(); ++i) {
    if (Status status = apply_word(words[i], entry, place); !status) {
      return fail(status.error());
    }
  }
  if (entry.max_slots != 0 && !entry.slots_given) {
    entry.slots = entry.max_slots;  // as in Open MPI 4.1
    entry.slots_given = true;
  }
  if (entry.max_slots != 0 && entry.max_slots < entry.slots) {
    return place.wrong("hostfile_slots", "max_slots is less than slots",
                       "Raise max_slots or lower slots.");
  }
  return entry;
}

// Collects entries; knows which of them were bare so that repeats can add up.
class Collector {
 public:
  Status add(HostEntry entry, const Place& place) {
    const auto [found, fresh] = seen_.try_emplace(
        entry.name,
        Seen{hosts_.size(), !entry.slots_given && !entry.all_slots});
    if (fresh) {
      hosts_.push_back(std::move(entry));
      return {};
    }
    HostEntry& first = hosts_[found->second.index];
    if (!found->second.bare || entry.slots_given || entry.all_slots) {
      return place.wrong(
          "hostfile_duplicate",
          "host " + entry.name + " is also in entry " +
              std::to_string(first.line) + ", and a slot count is given",
          "Keep one line for the host, with the sum of the slots.");
    }
    if (first.slots == kMaxSlots) {
      return place.wrong("hostfile_slots",
                         "host " + entry.name + " is named over 65536 times",
                         "");
    }
    ++first.slots;
    first.slots_given = true;
    return {};
  }
  std::vector<HostEntry> take() { return std::move(hosts_); }

 private:
  struct Seen {
    size_t index = 0;
    bool bare = false;
  };
  std::vector<HostEntry> hosts_;
  std::map<std::string, Seen> seen_;
};

Result<Hostfile> parse_all(const std::vector<std::string_view>& entries,
                           const std::string& source, bool skip_blank) {
  Collector collector;
  int line = 0;
  for (const std::string_view raw : entries) {
    ++line;
    std::string_view text = raw;
    if (skip_blank) text = text.substr(0, text.find('#'));
    text = trim(text);
    if (text.empty() && skip_blank) continue;
    const Place place{source, line, text, !skip_blank};
    if (text.empty()) {
      return place.wrong("hostfile_syntax", "it names no host",
                         "Write a list as host1:4,host2:4.");
    }
    Result<HostEntry> entry = parse_entry(place);
    if (!entry) return fail(entry.error());
    if (Status status = collector.add(*std::move(entry), place); !status) {
      return fail(status.error());
    }
  }
  Hostfile file{collector.take(), source};
  if (file.hosts.empty()) {
    return fail(Error{"hostfile_empty", "the hostfile names no host",
                      "it is empty or holds only comments", source,
                      "Check the number of workers of the job."});
  }
  return file;
}

}  // namespace

Result<Hostfile> parse_hostfile(std::string_view text,
                                const std::string& source) {
  // Windows editors put it in front of UTF-8.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return parse_all(split(text, '\n'), source, true);
}

Result<Hostfile> parse_host_list(std::string_view list,
                                 const std::string& source) {
  return parse_all(split(list, ','), source, false);
}

std::string write_hostfile(const std::vector<HostEntry>& hosts,
                           HostfileFormat format) {
  const bool by_word = format == HostfileFormat::kOpenMpi ||
                       format == HostfileFormat::kDeepSpeed;
  std::string out;
  for (const HostEntry& host : hosts) {
    const bool is_v6 = host.name.find(':') != std::string::npos;
    // Open MPI and DeepSpeed take a bare IPv6 address, Hydra needs brackets.
    out += is_v6 && !by_word ? "[" + host.name + "]" : host.name;
    out += (by_word ? " slots=" : ":") + std::to_string(host.slots);
    if (format == HostfileFormat::kOpenMpi && host.max_slots > 0) {
      out += " max_slots=" + std::to_string(host.max_slots);
    }
    out += "\n";
  }
  return out;
}

bool is_ip_address(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  // The zone of a link-local address names an interface (RFC 4007, 11).
  const size_t percent = std::min(text.find('%'), text.size());
  const std::string_view zone = text.substr(percent);
  if (zone == "%" ||
      (!zone.empty() &&
       !std::all_of(zone.begin() + 1, zone.end(), is_name_character))) {
    return false;
  }
  const std::string zoneless(text.substr(0, percent));
  in6_addr address{};
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1 ||
         inet_pton(AF_INET6, zoneless.c_str(), &address) == 1;
}

std::string_view first_label(std::string_view host) {
  if (is_ip_address(host)) return host;
  return host.substr(0, host.find('.'));
}

}  // namespace muster
