// SPDX-License-Identifier: Apache-2.0
// pasted_netdevs(): `ip addr`, `ip route` and ifconfig, new and old.
#include "fabric/facts/facts_pasted.h"

#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "fabric/facts/pasted_text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// 24 of "255.255.255.0" and of "0xffffff00"; -1 if it is none.
int length_of(std::string_view mask) {
  if (mask.starts_with("0x")) {
    const std::string digits(mask);
    return std::popcount(std::strtoul(digits.c_str(), nullptr, 16));
  }
  const auto parts = split(mask, '.');
  if (parts.size() != 4) return -1;
  int bits = 0;
  for (const auto part : parts) {
    const auto byte = parse_integer(part);
    if (!byte || *byte < 0 || *byte > 255) return -1;
    bits += std::popcount(static_cast<unsigned>(*byte));
  }
  return bits;
}

// The word behind one of these, also of "addr:10.0.0.1".
std::string after(const std::vector<std::string_view>& words,
                  std::initializer_list<std::string_view> labels) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (const auto label : labels) {
      if (words[i] == label && i + 1 < words.size()) {
        return std::string(words[i + 1]);
      }
      const bool joined = label.ends_with(':') && words[i].starts_with(label);
      if (joined && words[i].size() > label.size()) {
        return std::string(words[i].substr(label.size()));
      }
    }
  }
  return "";
}

class Interfaces {
 public:
  void line(std::string_view text) {
    const auto words = split_words(text);
    if (words.empty()) return;
    if (words[0] == "default") {
      const std::string name = after(words, {"dev"});
      if (!name.empty()) routed_.push_back(name);
    } else if (text[0] != ' ' && text[0] != '\t') {
      head(text, words);
    }
    if (list_.empty()) return;
    if (words[0] == "inet" || words[0] == "inet6") address(words);
    if (words[0] == "link/infiniband") list_.back()["kind"] = "ipoib";
    const std::string mtu = after(words, {"mtu", "MTU:"});
    if (!mtu.empty()) list_.back()["mtu"] = mtu;
  }
  Json done() {
    for (const std::string& name : routed_) {
      if (list_.empty()) list_.push_back(Json{{"name", name}});  // ip route
      for (Json& netdev : list_) {
        if (netdev["name"] == name) netdev["default_route"] = true;
      }
    }
    return std::move(list_);
  }

 private:
  // "2: eth0@if37: <UP,LOWER_UP> …", "eth0: flags=4163<UP,RUNNING>  mtu 1450",
  // "eth0      Link encap:Ethernet"
  void head(std::string_view text, const std::vector<std::string_view>& words) {
    std::string_view name = words[0];
    const bool numbered = words.size() > 1 && name.ends_with(':') &&
                          parse_integer(name.substr(0, name.size() - 1));
    const bool old = words.size() > 1 && words[1] == "Link";
    const bool flags = has(text, "<");
    if (numbered) name = words[1];
    if (!old && !(flags && name.ends_with(':'))) return;
    name = name.substr(0, std::min(name.find('@'), name.find(':')));
    Json netdev{{"name", name}};
    if (flags) {
      const std::string list = "," + between(text, "<", ">") + ",";
      netdev["up"] = has(list, ",UP,");
      netdev["running"] = has(list, ",LOWER_UP,") || has(list, ",RUNNING,");
    }
    list_.push_back(std::move(netdev));
  }
  void address(const std::vector<std::string_view>& words) {
    std::string text = after(words, {"inet", "inet6", "addr:"});
    if (words.size() > 2 && words[1] == "addr:") text = words[2];
    if (text.starts_with("addr:")) text = text.substr(5);
    const std::string length = after(words, {"prefixlen"});
    const std::string mask = after(words, {"netmask", "Mask:"});
    if (!has(text, "/") && !length.empty()) text += "/" + length;
    if (!has(text, "/") && length_of(mask) >= 0) {
      text += "/" + std::to_string(length_of(mask));
    }
    list_.back()["addresses"].push_back(text);
  }

  Json list_ = Json::array();
  std::vector<std::string> routed_;
};

// An address on a line of its own, or an interface behind its number: a
// person's own lines begin with a name.
bool is_output(std::string_view text) {
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2) continue;
    if (words[0] == "inet" || words[0] == "inet6") return true;
    if (words[0] == "default" && words[1] == "via") return true;
    const auto number = words[0].substr(0, words[0].size() - 1);
    if (words[0].ends_with(':') && parse_integer(number) && has(line, "<")) {
      return true;
    }
  }
  return false;
}

}  // namespace

Json pasted_netdevs(std::string_view text) {
  if (!is_output(text)) return Json::array();
  Interfaces interfaces;
  for (const auto line : split(text, '\n')) interfaces.line(line);
  return interfaces.done();
}

}  // namespace muster
