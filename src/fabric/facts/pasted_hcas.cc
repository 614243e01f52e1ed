// SPDX-License-Identifier: Apache-2.0
// pasted_hcas(): blocks of "key: value" lines, or a line for each GID or port.
#include "fabric/facts/facts_pasted.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "fabric/facts/pasted_text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// "Physical state" -> "physical_state"
std::string key_of(std::string_view text) {
  std::string key = to_lower(trim(text));
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

// Adapters of blocks of "key: value" lines, as three tools write them.
class Blocks {
 public:
  void line(std::string_view text) {
    const std::string lower = to_lower(trim(text));
    if (lower.starts_with("ca '") || lower.starts_with("infiniband device '")) {
      open(between(text, "'", "'"));
      const std::string port = between(lower, "' port ", " ");
      if (!port.empty()) start_port(port);
      return;
    }
    const size_t colon = text.find(':');
    if (colon == text.npos) return;
    const std::string key = key_of(text.substr(0, colon));
    const std::string value(trim(text.substr(colon + 1)));
    if (key == "hca_id") {
      open(value);
    } else if (!hcas_.empty()) {
      take(key, value, text);
    }
  }
  Json done() {
    close_port();
    return std::move(hcas_);
  }

 private:
  void open(const std::string& name) {
    close_port();
    hcas_.push_back(Json{{"name", name}});
  }
  void start_port(const std::string& number) {
    close_port();
    port_ = Json{{"port", number}};
  }
  void close_port() {
    if (port_.empty()) return;
    const double speed = width_ * lane_gbps_;
    if (speed > 0) port_["rate_gbps"] = speed;
    hcas_.back()["ports"].push_back(std::move(port_));
    port_ = Json::object();
    width_ = lane_gbps_ = 0;
  }
  void take(const std::string& key, const std::string& value,
            std::string_view line) {
    if (key == "transport" && to_lower(value).starts_with("iwarp")) {
      hcas_.back()["iwarp"] = true;
    } else if (key == "fw_ver" || key == "firmware_version") {
      hcas_.back()["firmware"] = value;
    } else if (key == "port") {
      start_port(value);
    } else if (key.starts_with("port_") && parse_integer(key.substr(5))) {
      start_port(key.substr(5));  // ibstat's "Port 1:"
    } else if (key == "state") {
      port_["state"] = value;
    } else if (key == "phys_state" || key == "physical_state") {
      port_["phys_state"] = value;
    } else if (key == "link_layer") {
      port_["link_layer"] = value;
    } else if (key == "rate") {
      port_["rate_gbps"] = value;
    } else if (key == "active_mtu") {
      port_["mtu"] = value;
    } else if (key == "active_width") {
      width_ = std::strtod(value.c_str(), nullptr);
    } else if (key == "active_speed") {
      lane_gbps_ = std::strtod(value.c_str(), nullptr);
    } else if (key.starts_with("gid[")) {
      port_["gids"].push_back(trim(line));
    }
  }

  Json hcas_ = Json::array();
  Json port_ = Json::object();
  double width_ = 0;
  double lane_gbps_ = 0;
};

Json& named(Json& list, const std::string& name) {
  for (Json& item : list) {
    if (item.value("name", "") == name) return item;
  }
  return list.emplace_back(Json{{"name", name}});
}

Json& port_of(Json& hcas, const std::string& name, std::string_view number) {
  Json& ports = named(hcas, name)["ports"];
  for (Json& port : ports) {
    if (port["port"] == number) return port;
  }
  return ports.emplace_back(Json{{"port", number}});
}

// "mlx5_0 1 3 ADDRESS [IPv4] v2 net1"
bool is_gid_line(const std::vector<std::string_view>& words) {
  return words.size() >= 4 && parse_integer(words[1]) &&
         parse_integer(words[2]) && words[3].find(':') != words[3].npos;
}

void take_gid(std::string_view line, Json& hcas) {
  const auto words = split_words(line);
  if (!is_gid_line(words)) return;
  Json& port = port_of(hcas, std::string(words[0]), words[1]);
  port["gids"].push_back(line);
  const bool has_type = std::any_of(words.begin() + 4, words.end(), [](auto w) {
    return w == "v1" || w == "v2";
  });
  const auto last = words.back();
  const bool netdev = has_type && last != "v1" && last != "v2";
  if (netdev && !port.contains("netdev")) port["netdev"] = last;
}

// "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2"
void take_link(std::string_view line, Json& hcas) {
  const auto words = split_words(line);
  size_t at = words.empty() || words[0] != "link" ? 0 : 1;
  if (at == 0 && words.size() > 1 && words[0].ends_with(':')) at = 1;
  if (at >= words.size()) return;
  std::string_view name = words[at];
  if (name.ends_with(':')) name.remove_suffix(1);
  const size_t slash = name.find('/');
  if (slash == name.npos || !parse_integer(name.substr(slash + 1))) return;
  Json& port =
      port_of(hcas, std::string(name.substr(0, slash)), name.substr(slash + 1));
  for (size_t i = at + 1; i + 1 < words.size(); i += 2) {
    if (words[i] == "state") port["state"] = words[i + 1];
    if (words[i] == "physical_state") port["phys_state"] = words[i + 1];
    if (words[i] == "netdev") port["netdev"] = words[i + 1];
    // The kernel tells it of InfiniBand only (nldev.c, fill_port_info).
    if (words[i] == "subnet_prefix") port["link_layer"] = "InfiniBand";
  }
}

}  // namespace

Json pasted_hcas(std::string_view text) {
  const std::string lower = to_lower(text);
  Json out = Json::array();
  if (has(lower, "hca_id:") || lower.starts_with("ca '") ||
      has(lower, "\nca '") || has(lower, "infiniband device '")) {
    Blocks blocks;
    for (const auto line : split(text, '\n')) blocks.line(line);
    return blocks.done();
  }
  const bool links = has(lower, "physical_state");
  const std::string_view first = trim(text);
  const bool gids = (has(lower, "index") && has(lower, "gid")) ||
                    is_gid_line(split_words(first.substr(0, first.find('\n'))));
  if (!links && !gids) return out;
  for (const auto line : split(text, '\n')) {
    if (links) take_link(line, out);
    if (!links) take_gid(line, out);
  }
  return out;
}

}  // namespace muster
