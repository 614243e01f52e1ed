// SPDX-License-Identifier: Apache-2.0
// Interfaces, libraries and lists; adapters are in hca_words.cc.
#include "fabric/facts/facts_words.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fabric/facts/fact_word.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// "255.255.255.0" -> 24; -1 if the text is not a mask.
int bits_of_mask(std::string_view mask) {
  int bits = 0;
  bool ended = false;
  const auto parts = split(mask, '.');
  for (const auto part : parts) {
    const int64_t value = parse_integer(part).value_or(-1);
    for (int bit = 7; bit >= 0; --bit) {
      const bool set = value >= 0 && ((value >> bit) & 1) != 0;
      if (value < 0 || value > 255 || (set && ended)) return -1;
      ended = ended || !set;
      bits += set ? 1 : 0;
    }
  }
  return parts.size() == 4 ? bits : -1;
}

}  // namespace

Result<Json> netdev_of_words(std::string_view text) {
  Json netdev = Json::object();
  auto words = split_words(text);
  if (words.empty()) {
    return unreadable("netdevs", text, "", "an entry is a name or an object");
  }
  // NCCL's "eth0:10.0.0.1<0>"
  words[0] = without_place(words[0]);
  const size_t end = words[0].find('<');
  const size_t colon = words[0].find(':');
  if (end != std::string_view::npos && colon < end) {
    const size_t zone = std::min(end, words[0].find('%'));
    words.push_back(words[0].substr(colon + 1, zone - colon - 1));
    words[0] = words[0].substr(0, colon);
  }
  const std::string_view name = without_end(words[0], ":,");
  netdev["name"] = name.substr(0, name.find('@'));  // "eth0@if12" of ip
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with('(')) words[i].remove_prefix(1);
    words[i] = without_end(words[i], ",;)");
    const std::string word = to_lower(words[i]);
    const bool more = i + 1 < words.size();
    if (word.empty() || (word == "route" && netdev.contains("default_route"))) {
      continue;
    }
    if (one_of(word, {"brd", "qlen"}) && more) {
      ++i;  // of "ip addr": nothing to know
    } else if (word == "mtu" && more) {
      netdev["mtu"] = words[++i];
    } else if (word == "netmask" && more && netdev.contains("addresses")) {
      const int bits = bits_of_mask(words[++i]);
      std::string last = netdev["addresses"].back().get<std::string>();
      if (bits >= 0 && last.find('/') == last.npos) {
        netdev["addresses"].back() = last + "/" + std::to_string(bits);
      }
    } else if (is_address(words[i])) {
      netdev["addresses"].push_back(words[i]);
    } else if (is_rate(word) && word.find('g') != word.npos) {
      netdev["speed_mbps"] = words[i];
    } else if (word == "default") {
      netdev["default_route"] = true;
    } else if (word == "up" || word == "down") {
      netdev["up"] = word == "up";
    } else if (!is_label(word) && !word.starts_with('<')) {
      return unreadable("netdevs", text, words[i],
                        "write an object, or NAME [ADDRESS/LENGTH] [default] "
                        "[down]");
    }
  }
  return netdev;
}

Json netdevs_of_log(std::string_view text) {
  Json out = Json::array();
  if (text.find("[0]") == text.npos) return out;
  for (std::string_view word : split_words(text)) {
    const size_t end = word.find('<');
    if (end == word.npos) continue;
    word = word.substr(0, std::min(end, word.find('%')));
    const size_t bracket = word.find(']');
    if (bracket != word.npos) word.remove_prefix(bracket + 1);
    const size_t colon = word.find(':');
    out.push_back(std::string(word.substr(0, colon)) + " " +
                  std::string(word.substr(colon + 1)));
  }
  return out;
}

Json listed_netdevs(std::string_view text) {
  Json found = netdevs_of_log(text);
  return found.empty() ? listed_texts(text) : found;
}

Json plugin_of_words(std::string_view text) {
  Json plugin = Json::object();
  const auto words = split_words(text);
  plugin["name"] = trim(text);
  if (words.size() != 2) return plugin;
  const std::string_view last = words[1];
  const size_t digit = last.starts_with('v') ? 1 : 0;
  if (last.find_first_of("0123456789") != digit) return plugin;
  plugin["name"] = words[0];
  plugin["version"] = last;
  return plugin;
}

Json library_of_words(std::string_view text) {
  Json library = Json::object();
  const std::string lower = to_lower(text);
  constexpr std::array<std::pair<const char*, const char*>, 6> kFamilies = {
      {{"open mpi", "openmpi"},
       {"openmpi", "openmpi"},
       {"hpc-x", "openmpi"},
       {"mvapich", "mvapich"},
       {"mpich", "mpich"},
       {"intel", "intel"}}};
  for (const auto& [word, family] : kFamilies) {
    if (lower.find(word) == lower.npos) continue;
    library["family"] = family;
    break;
  }
  const auto words = split_words(text);
  for (std::string_view word : words) {
    if (word.starts_with('v')) word.remove_prefix(1);
    const bool number = !word.empty() && word[0] >= '0' && word[0] <= '9';
    if (number && word.find('.') != word.npos) library["version"] = word;
  }
  return library;
}

Json listed_texts(std::string_view text) {
  Json out = Json::array();
  std::string item;
  int depth = 0;
  const auto finish = [&] {
    if (!trim(item).empty()) out.push_back(trim(item));
    item.clear();
  };
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == '\n' || (c == ',' && depth <= 0)) {
      finish();
    } else {
      item += c;
    }
  }
  finish();
  return out;
}

}  // namespace muster
