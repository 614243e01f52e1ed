// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_pasted.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "fabric/facts/facts_expand.h"
#include "fabric/facts/facts_names.h"
#include "fabric/facts/facts_words.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// A line for each entry: `ip -br addr`, ibdev2netdev.
template <class OfWords>
Json lines_of(const std::string& text, OfWords of_words) {
  Json out = Json::array();
  for (const auto line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    auto read = of_words(line);
    if (!read) return Json::array();
    out.push_back(std::move(*read));
  }
  return out;
}

Json hcas_of(const std::string& text) {
  Json out = pasted_hcas(text);
  return out.empty() ? lines_of(text, hca_of_words) : out;
}

Json netdevs_of(const std::string& text) {
  Json out = pasted_netdevs(text);
  return out.empty() ? lines_of(text, netdev_of_words) : out;
}

struct Kind {
  const char* list;
  Json (*whole)(std::string_view);
  Json (*of_tool)(const std::string&);
  std::vector<std::string_view> tools;  // "*": and what follows
};

const std::array<Kind, 3>& kinds() {
  static const std::array<Kind, 3> list = {
      {{"hcas",
        pasted_hcas,
        hcas_of,
        {"ibv_devinfo*", "ibstat*", "ibstatus*", "show_gids*", "rdma_link*",
         "ibdev2netdev*"}},
       {"netdevs",
        pasted_netdevs,
        netdevs_of,
        {"ip_a*", "ip_addr*", "ip_address*", "ip_link*", "ip_r", "ip_route*",
         "ifconfig*"}},
       {"gpus",
        pasted_gpus,
        [](const std::string& text) { return pasted_gpus(text); },
        {"nvidia_smi*", "topology", "topo"}}}};
  return list;
}

// "ip -4 -br a" -> "ip_a"
std::string without_options_of_ip(const std::string& key) {
  if (!key.starts_with("ip_")) return key;
  std::vector<std::string> out;
  for (const auto word : split(key, '_')) {
    const bool option = word == "br" || word == "brief" || word == "o" ||
                        word == "d" || word == "s" || word == "c" ||
                        word == "4" || word == "6";
    if (!option) out.emplace_back(word);
  }
  return join(out, "_");
}

bool is_called(const Kind& kind, const std::string& written) {
  const std::string key = without_options_of_ip(plain_field_name(written));
  return std::any_of(kind.tools.begin(), kind.tools.end(), [&](auto tool) {
    if (!tool.ends_with('*')) return key == tool;
    tool.remove_suffix(1);
    return key == tool || key.starts_with(std::string(tool) + "_");
  });
}

std::string number_of(const Json& port) {
  const Json number = port.value("port", Json("1"));
  return number.is_string() ? number.get<std::string>() : number.dump();
}

void join_ports(Json& mine, Json more) {
  if (!more.is_array() || more.empty()) return;
  if (!mine.contains("ports")) {  // what stands beside is for all ports
    mine["ports"] = std::move(more);
    return;
  }
  if (!mine["ports"].is_array()) return;
  for (Json& port : more) {
    for (Json& own : mine["ports"]) {
      if (own.is_object() && number_of(own) == number_of(port)) {
        own.update(port);
      }
    }
  }
}

// Joins what two tools print about one entry.
void join_named(Json& list, Json more) {
  for (Json& item : more) {
    const auto same = [&](auto& own) { return own["name"] == item["name"]; };
    const auto own = std::find_if(list.begin(), list.end(), same);
    if (own == list.end()) {
      list.push_back(std::move(item));
      continue;
    }
    join_ports(*own, item.value("ports", Json()));
    item.erase("ports");
    own->update(item);
  }
}

// GPUs have numbers.
void join_in_order(Json& list, Json more) {
  for (size_t i = 0; i < more.size(); ++i) {
    if (i < list.size() && list[i].is_object()) list[i].update(more[i]);
    if (i >= list.size()) list.push_back(std::move(more[i]));
  }
}

bool all_named(const Json& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](auto& item) {
           return item.is_object() && item.contains("name") &&
                  item["name"].is_string();
         });
}

Status join(Json& pod, const Kind& kind, Json read, FactsBudget& budget) {
  if (!pod.contains(kind.list)) {
    pod[kind.list] = std::move(read);
    return {};
  }
  Json own = Json::array({Json{{kind.list, pod[kind.list]}}});
  if (Status status = expand_facts(own, budget); !status) return status;
  Json& list = own[0][kind.list];
  if (std::string_view(kind.list) == "gpus") {
    if (list.is_array()) join_in_order(list, std::move(read));
  } else if (all_named(list) && all_named(read)) {
    join_named(list, std::move(read));
  }
  pod[kind.list] = std::move(list);
  return {};
}

}  // namespace

std::optional<std::string> text_of_lines(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return std::nullopt;
  std::string out;
  for (const Json& line : json) {
    if (!line.is_string()) return std::nullopt;
    out += line.get<std::string>() + "\n";
  }
  return out;
}

void settle_pasted_lists(Json& pod) {
  for (const Kind& kind : kinds()) {
    if (!pod.contains(kind.list)) continue;
    const auto text = text_of_lines(pod[kind.list]);
    Json read = text ? kind.whole(*text) : Json::array();
    if (read.empty()) continue;
    pod[kind.list] = std::move(read);
    take_driver(*text, pod);
  }
}

Status take_outputs(Json& pod, FactsBudget& budget) {
  std::vector<std::string> keys;
  for (const auto& item : pod.items()) keys.push_back(item.key());
  for (const Kind& kind : kinds()) {
    for (const std::string& key : keys) {
      if (!is_called(kind, key)) continue;
      const auto text = text_of_lines(pod[key]);
      Json read = text ? kind.of_tool(*text) : Json::array();
      if (read.empty()) continue;  // said to be an unknown field
      pod.erase(key);
      take_driver(*text, pod);
      Status status = join(pod, kind, std::move(read), budget);
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace muster
