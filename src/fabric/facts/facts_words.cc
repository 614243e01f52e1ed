// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

bool one_of(std::string_view word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* known) { return word == known; });
}

bool is_layer(std::string_view word) {
  return one_of(word, {"ib", "eth", "unspecified"}) ||
         word.starts_with("infiniband") || word.starts_with("ethernet") ||
         word.starts_with("roce");
}

bool is_state(std::string_view word) {
  return one_of(word, {"up", "down", "init", "initializing", "armed", "linkup",
                       "polling", "disabled"}) ||
         word.find("active") != word.npos || word.starts_with("port_");
}

// "400", "400G", "400Gb/s"
bool is_rate(std::string_view word) {
  const size_t end = word.find_first_not_of("0123456789.");
  if (end == 0) return false;
  return end == word.npos || word[end] == 'g';
}

bool is_driver(std::string_view word) {
  return one_of(word, {"efa", "cxi", "irdma", "bnxt_re", "erdma", "ionic",
                       "mlx4", "mlx5", "hfi1", "rxe", "siw", "mana"});
}

// As the kernel, udev and Kubernetes' networks call them: "enp216s0", "eth2".
bool is_interface(std::string_view word) {
  constexpr std::array<std::string_view, 10> kStems = {
      "eth", "eno", "ens", "enp", "enP", "bond", "net", "hsn", "ib", "rdma"};
  const size_t digit = word.find_first_of("0123456789");
  return digit != word.npos && std::find(kStems.begin(), kStems.end(),
                                         word.substr(0, digit)) != kStems.end();
}

// "ConnectX-7", "BlueField-3": what a card is called decides nothing.
bool is_product(std::string_view word) {
  return word.starts_with("connectx") || word.starts_with("bluefield");
}

bool is_unit(std::string_view word) {
  return one_of(word, {"gb/s", "gbps", "gb/sec", "gbit/s", "gbe", "g"});
}

// What tools write before a value: "Rate:", "Link layer:", "inet".
bool is_label(std::string_view word) {
  return one_of(word, {"rate", "state", "speed", "link", "layer", "link_layer",
                       "physical", "type", "inet", "inet6", "scope", "global",
                       "host", "dynamic", "noprefixroute", "unknown"});
}

// "0002:00:02.0"
bool is_pci_address(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') == 2 && word.size() == 12 &&
         word[10] == '.' &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == word.npos;
}

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

std::string_view without_end(std::string_view word, std::string_view marks) {
  while (word.size() > 1 && marks.find(word.back()) != marks.npos) {
    word.remove_suffix(1);
  }
  return word;
}

// "mlx5_0-7", "mlx5_0..7" and "mlx5_0..mlx5_7" -> "mlx5_[0-7]". Of adapters
// only: net1-0 is how some networks call an interface.
std::string with_brackets(std::string_view name) {
  const size_t dots = name.find("..");
  const size_t mark = dots != name.npos ? dots : name.rfind('-');
  if (mark == name.npos || name.find('[') != name.npos) {
    return std::string(name);
  }
  const auto left = name.substr(0, mark);
  auto right = name.substr(mark + (dots != name.npos ? 2 : 1));
  const size_t digits = left.find_last_not_of("0123456789") + 1;
  const auto stem = left.substr(0, digits);
  if (!stem.empty() && right.starts_with(stem)) {
    right.remove_prefix(stem.size());
  }
  const auto first = parse_integer(left.substr(digits));
  const auto last = parse_integer(right);
  if (stem.empty() || !first || !last || *first < 0 || *last <= *first) {
    return std::string(name);
  }
  return std::string(stem) + "[" + std::string(left.substr(digits)) + "-" +
         std::string(right) + "]";
}

bool is_address(std::string_view word) {
  const bool digits = word.find_first_of("0123456789") != word.npos;
  return digits && word.find_first_of(".:") != word.npos &&
         word.find_first_not_of("0123456789abcdefABCDEF.:/[],-") == word.npos;
}

tl::unexpected<Error> unreadable(const char* list, std::string_view text,
                                 std::string_view word, const char* form) {
  return fail({.code = "facts_invalid",
               .what = list,
               .why = "\"" + std::string(word.substr(0, 40)) + "\" in \"" +
                      std::string(text.substr(0, 60)) + "\" means nothing here",
               .where = {},
               .hint = form});
}

// "mlx5_0:1/IB" of NCCL's "[0]mlx5_0:1/IB".
std::string_view without_place(std::string_view word) {
  const size_t end = word.find(']');
  if (!word.starts_with('[') || end + 1 >= word.size()) return word;
  return parse_integer(word.substr(1, end - 1)) ? word.substr(end + 1) : word;
}

// "IB" of "IB/SHARP".
std::string_view layer_of(std::string_view word) {
  return word.substr(0, word.find('/'));
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
      // What follows is the interface's state: of IPoIB it says nothing.
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

namespace {

// What the driver of a card calls its adapters.
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

// "8x ConnectX-7 400G" -> 8 and what stands behind; 0 where no number is told.
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
  // "mlx5_0: IB, 200": what is no name belongs to the adapter before.
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

namespace {

// 24 of "255.255.255.0"; -1 of what is no mask.
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
