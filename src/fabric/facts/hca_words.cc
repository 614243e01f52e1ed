// SPDX-License-Identifier: Apache-2.0
// Adapters in a person's or a program's words.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fabric/facts/fact_word.h"
#include "fabric/facts/facts_words.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// The word that ends the bracket which begins at `at`, if a dash is in it:
// other brackets hold what is known of the adapter.
size_t behind_bracket(const std::vector<std::string_view>& words, size_t at) {
  bool dash = false;
  for (; at < words.size(); ++at) {
    dash = dash || words[at] == "-";
    if (words[at].ends_with(')')) return dash ? at : words.size();
  }
  return at;
}

// "mlx5_0:1/RoCE" and "mlx5_0:1/IB/SHARP" -> name, port and link layer.
void take_name(std::string_view word, Json& hca) {
  word = without_place(word);
  const size_t slash = word.find('/');
  const auto layer = slash == word.npos ? "" : layer_of(word.substr(slash + 1));
  if (is_layer(to_lower(layer))) {
    hca["link_layer"] = layer;
    word = word.substr(0, slash);
  }
  const size_t colon = word.rfind(':');
  if (colon != word.npos && parse_integer(word.substr(colon + 1))) {
    hca["port"] = *parse_integer(word.substr(colon + 1));
    word = word.substr(0, colon);
  }
  hca["name"] = with_brackets(without_end(word, ":,"));
}

// "2x100G", of two ports joined.
std::optional<double> rate_of_pair(const std::string& word) {
  if (!word.starts_with("2x") || !is_rate(word.substr(2))) return std::nullopt;
  const auto one = gbps_of_words(word.substr(2), 1);
  return one ? std::optional(*one * 2) : std::nullopt;
}

// The names that a card's driver gives its adapters.
const char* names_of_card(const std::string& lower) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kCards = {
      {{"thor", "bnxt_re"},
       {"bnxt", "bnxt_re"},
       {"broadcom", "bnxt_re"},
       {"pollara", "ionic_"},
       {"ainic", "ionic_"},
       {"ionic", "ionic_"},
       {"cxi", "cxi"},
       {"slingshot", "cxi"}}};
  for (const auto& [word, name] : kCards) {
    if (lower.find(word) != lower.npos) return name;
  }
  return lower.find("efa") != lower.npos ? "rdmap" : "mlx5_";
}

// "8x ConnectX-7 400G" -> 8, and leaves the rest in `words`; 0 without a
// number.
int64_t take_count(std::vector<std::string_view>& words) {
  if (words.empty()) return 0;
  const size_t digits = words[0].find_first_not_of("0123456789");
  if (digits == 0) return 0;
  const bool joined = digits != words[0].npos && words[0].substr(digits) == "x";
  const bool apart =
      digits == words[0].npos && words.size() > 1 && words[1] == "x";
  if (!joined && !apart) return 0;
  const auto count = parse_integer(words[0].substr(0, digits));
  words.erase(words.begin(), words.begin() + (joined ? 1 : 2));
  return count.value_or(0);
}

}  // namespace

Result<Json> hca_of_words(std::string_view text) {
  Json hca = Json::object();
  const auto words = split_words(text);
  if (words.empty()) {
    return unreadable("hcas", text, "", "a list entry is a name or an object");
  }
  // `ibdev2netdev -v` has the PCI address in front.
  size_t i = words.size() > 1 && is_pci_address(words[0]) ? 1 : 0;
  if (i == 1) hca["pci"] = words[0];
  take_name(words[i], hca);
  while (++i < words.size()) {
    std::string word = to_lower(words[i]);
    if (word[0] == '(' && !word.ends_with(')')) {  // "(MT4129 - NA)"
      const size_t end = behind_bracket(words, i);
      if (end < words.size()) {
        i = end;
        continue;
      }
    }
    word.erase(std::remove_if(word.begin(), word.end(),
                              [](char c) { return c == '(' || c == ')'; }),
               word.end());
    word = without_end(word, ",;:");
    const bool more = i + 1 < words.size();
    const auto lanes =
        more ? gbps_of_words(word + " " + std::string(words[i + 1]), 1)
             : std::nullopt;
    if (word == "port" && more) {
      hca["port"] = words[++i];
    } else if (word == "==>" && more) {
      hca["netdev"] = words[++i];
      // The interface's state follows; it says nothing about an IPoIB port.
      if (words[i].starts_with("ib") || hca.contains("state")) break;
    } else if (word == "fw" && more) {
      hca["firmware"] = words[++i];
    } else if (is_layer(word)) {
      hca["link_layer"] = word;
    } else if (is_state(word)) {
      hca["state"] = word;
    } else if (word.ends_with('x') && lanes) {  // "4X NDR"
      hca["rate_gbps"] = *lanes;
      ++i;
    } else if (const int rate = generation_gbps(word); rate > 0) {
      hca["rate_gbps"] = rate;
    } else if (is_rate(word)) {
      hca["rate_gbps"] = word;
    } else if (word == "mtu" && more) {
      hca["mtu"] = words[++i];
    } else if (word == "vf") {
      hca["vf"] = true;
    } else if (word == "lid" && more) {
      ++i;
    } else if (const auto twice = rate_of_pair(word); twice) {
      hca["rate_gbps"] = *twice;
    } else if (is_driver(word)) {
      hca["driver"] = word;
    } else if (one_of(words[i], {"PIX", "PXB", "PHB", "NODE", "SYS"})) {
      hca["gpu_path"] = words[i];
    } else if (is_interface(without_end(words[i], ",;"))) {
      hca["netdev"] = without_end(words[i], ",;");
    } else if (!is_unit(word) && !is_label(word) && !is_product(word)) {
      return unreadable("hcas", text, words[i],
                        "write an object, or NAME [InfiniBand|Ethernet] "
                        "[ACTIVE|DOWN] [400]");
    }
  }
  return hca;
}

Json hcas_of_log(std::string_view line) {
  Json out = Json::array();
  if (line.find("[0]") == line.npos) return out;
  for (std::string_view word : split_words(line.substr(0, line.find(';')))) {
    const size_t slash = word.find('/');
    const size_t bracket = word.rfind(']', slash);
    word = without_end(word, "}],");
    if (slash >= word.size() || word.find(':') > slash) continue;
    if (!is_layer(to_lower(layer_of(word.substr(slash + 1))))) continue;
    out.push_back(
        word.substr(bracket == word.npos || bracket > slash ? 0 : bracket + 1));
  }
  return out;
}

// How many there are is known, and the names are those of such cards. Of the
// other words the maker's and the card's decide nothing more.
void name_counted(Json& list) {
  if (!list.is_array()) return;
  constexpr int64_t kMostCounted = 4096;
  std::map<std::string, int64_t> used;
  for (Json& item : list) {
    if (!item.is_string()) continue;
    const std::string text = item.get<std::string>();
    auto words = split_words(text);
    const int64_t count = take_count(words);
    if (count < 1 || count > kMostCounted) continue;
    std::string rest;
    for (const std::string_view written : words) {
      const std::string word = to_lower(written);
      const bool known = is_layer(word) || is_state(word) || is_rate(word) ||
                         is_unit(word) || is_driver(word) ||
                         generation_gbps(word) > 0;
      if (known) rest += " " + std::string(written);
    }
    const std::string name = names_of_card(to_lower(text));
    const int64_t first = used[name];
    used[name] += count;
    item = name + "[" + std::to_string(first) + "-" +
           std::to_string(first + count - 1) + "]" + rest;
  }
}

Json listed_hcas(std::string_view text) {
  Json found = hcas_of_log(text);
  if (!found.empty()) return found;
  // "mlx5_0: IB, 200": a word that is not a name belongs to the last adapter.
  for (const Json& part : listed_texts(text)) {
    const std::string word = part.get<std::string>();
    const std::string first = to_lower(split_words(word)[0]);
    const bool more = is_layer(first) || is_state(first) || is_rate(first) ||
                      generation_gbps(first) > 0;
    if (more && !found.empty()) {
      found.back() = found.back().get<std::string>() + " " + word;
    } else {
      found.push_back(part);
    }
  }
  return found;
}

}  // namespace muster
