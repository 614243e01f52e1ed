// SPDX-License-Identifier: Apache-2.0
// One GID as one text: the schema's word list, and what people paste: a line
// of show_gids ("mlx5_0 1 3 0000:…:0a01:0203 10.1.2.3 v2 net1") or of
// ibv_devinfo -v ("GID[  3]: ::ffff:10.1.2.3, RoCE v2"). Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/facts_forms.h"
#include "fabric/facts/facts_json.h"

namespace muster {

namespace {

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

std::string type_of(const std::string& word) {
  for (const char* end : {"v1", "v2"}) {
    if (word == end || (word.starts_with("roce") && word.ends_with(end))) {
      return end;
    }
  }
  return word == "ib" ? word : "";
}

bool take(const std::string& word, FabricGid& gid) {
  const std::string lower = to_lower(word);
  const auto number = is_number(word) ? parse_integer(word) : std::nullopt;
  if (const std::string type = type_of(lower); !type.empty()) {
    gid.type = type;
  } else if (lower == "roce" || lower == "ib/roce") {
    return true;  // its version follows
  } else if (lower == "unreadable" || lower == "foreign") {
    gid.readable = false;
  } else if (lower == "unusable") {
    gid.usable = false;
  } else if (number && gid.index < 0 && gid.gid.empty() && *number < 65536) {
    gid.index = static_cast<int>(*number);
  } else if (gid.gid.empty() && word.find_first_of(":.") != word.npos) {
    gid.gid = word;
  } else if (gid.netdev.empty()) {
    gid.netdev = word;
  } else {
    return false;
  }
  return true;
}

// "mlx5_0 1 3 ADDRESS [IPV4] …" without what the schema's form has not.
std::vector<std::string_view> without_device(
    std::vector<std::string_view> words) {
  const bool from_show_gids = words.size() >= 4 && !is_number(words[0]) &&
                              is_number(words[1]) && is_number(words[2]) &&
                              words[3].find(':') != std::string_view::npos;
  if (!from_show_gids) return words;
  const bool ipv4 = words.size() > 4 &&
                    std::count(words[4].begin(), words[4].end(), '.') == 3;
  if (ipv4) words.erase(words.begin() + 4);
  words.erase(words.begin(), words.begin() + 2);
  return words;
}

}  // namespace

Result<FabricGid> parse_gid_line(std::string_view line) {
  FabricGid gid;
  std::string text = without_gid_frame(line);
  for (char& c : text) {
    if (c == ',' || c == '(' || c == ')') c = ' ';
  }
  // "3: ::ffff:10.1.2.3"
  const size_t end = text.find_first_not_of("0123456789 ");
  if (end != text.npos && text[end] == ':' && end + 1 < text.size() &&
      text[end + 1] == ' ' && text.find_first_of("0123456789") < end) {
    text[end] = ' ';
  }
  for (const auto word : without_device(split_words(text))) {
    if (take(std::string(word), gid)) continue;
    return fail({.code = "facts_invalid",
                 .what = "cannot read the facts",
                 .why = "\"" + std::string(line.substr(0, 60)) +
                        "\" has words too many",
                 .where = {},
                 .hint = "the format is in docs/facts-schema.md"});
  }
  return gid;
}

}  // namespace muster
