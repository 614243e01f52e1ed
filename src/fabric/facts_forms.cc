// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostGpus = 64;

constexpr std::array<std::array<std::string_view, 2>, 20> kMeant = {{
    {"env", "environment"},
    {"envs", "environment"},
    {"variables", "environment"},
    {"nccl", "nccl_version"},
    {"adapters", "hcas"},
    {"nics", "hcas"},
    {"devices", "hcas"},
    {"interfaces", "netdevs"},
    {"ip", "addresses"},
    {"ips", "addresses"},
    {"ipv4", "addresses"},
    {"address", "addresses"},
    {"rate", "rate_gbps"},
    {"speed", "rate_gbps"},
    {"linklayer", "link_layer"},
    {"layer", "link_layer"},
    {"driver_version", "gpu_driver"},
    {"shm", "shm_bytes"},
    {"memlock", "memlock_bytes"},
    {"ulimit_l", "memlock_bytes"},
}};

constexpr std::array kOfPods = {"hcas",        "netdevs", "gpus",
                                "environment", "shape",   "nccl_version",
                                "pci_hcas",    "vendor",  "product"};

bool all_objects(const Json& json) {
  return json.is_object() && !json.empty() &&
         std::all_of(json.begin(), json.end(),
                     [](auto& item) { return item.is_object(); });
}

// {"a": {…}, "b": {…}} -> [{"name": "a", …}, {"name": "b", …}]
Json by_key(Json object, const char* field) {
  Json out = Json::array();
  for (auto& [key, item] : object.items()) {
    item[field] = key;
    out.push_back(std::move(item));
  }
  return out;
}

void settle_list(Json& pod, const char* name) {
  if (!pod.contains(name)) return;
  Json& list = pod[name];
  if (all_objects(list)) {
    list = by_key(std::move(list), "name");
  } else if (list.is_string()) {
    list = Json::array({list});
  }
}

// 8, or "8x NVIDIA H100"
void settle_gpus(Json& pod) {
  if (!pod.contains("gpus")) return;
  Json& gpus = pod["gpus"];
  int64_t count = -1;
  std::string name;
  if (gpus.is_number_integer()) {
    count = gpus.get<int64_t>();
  } else if (gpus.is_string()) {
    const std::string text = gpus.get<std::string>();
    const size_t end = text.find_first_not_of("0123456789");
    const size_t x = text.find_first_not_of(' ', end);
    if (end != 0 && x != text.npos && text[x] == 'x') {
      count = parse_integer(text.substr(0, end)).value_or(-1);
      name = trim(text.substr(x + 1));
    }
  }
  if (count < 0 || count > kMostGpus) return settle_list(pod, "gpus");
  Json one = Json::object();
  if (!name.empty()) one["name"] = name;
  gpus = Json::array();
  for (int64_t i = 0; i < count; ++i) gpus.push_back(one);
}

// ["NCCL_DEBUG=INFO"] -> {"NCCL_DEBUG": "INFO"}
void settle_variables(Json& pod, const char* name) {
  if (!pod.contains(name) || !pod[name].is_array()) return;
  Json out = Json::object();
  for (const Json& line : pod[name]) {
    const std::string text = line.is_string() ? line.get<std::string>() : "";
    const size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos) return;
    out[std::string(trim(text.substr(0, equals)))] = text.substr(equals + 1);
  }
  pod[name] = std::move(out);
}

// A rate in the field's unit: "400000 Mb/s" of Gb/s, "25G" of Mb/s.
void settle_rate(Json& holder, const char* name, char unit) {
  if (!holder.contains(name) || !holder[name].is_string()) return;
  const std::string text = to_lower(holder[name].get<std::string>());
  const size_t end = text.find_first_not_of("0123456789.");
  const size_t at = text.find_first_not_of(' ', end);
  if (end == 0 || at == text.npos || text[at] == unit) return;
  const double scale = text[at] == 'g' ? 1000 : text[at] == 'm' ? 0.001 : 1;
  const double value = std::strtod(text.c_str(), nullptr) * scale;
  if (std::isfinite(value)) holder[name] = value;
}

// {"3": "v2 10.0.0.1"} -> ["3 v2 10.0.0.1"]; a text of several lines.
void settle_gids(Json& port) {
  if (!port.contains("gids")) return;
  Json& gids = port["gids"];
  Json out = Json::array();
  if (gids.is_string()) {
    const std::string text = gids.get<std::string>();
    for (const auto line : split(text, '\n')) {
      if (!trim(line).empty()) out.push_back(std::string(line));
    }
  } else if (gids.is_object() && !gids.empty()) {
    for (auto& [key, item] : gids.items()) {
      if (item.is_object()) item["index"] = key;
      out.push_back(item.is_string() ? Json(key + " " + item.get<std::string>())
                                     : std::move(item));
    }
  } else if (gids.is_array()) {
    out = std::move(gids);
  } else {
    return;
  }
  for (Json& item : out) {
    if (item.is_string()) item = without_gid_frame(item.get<std::string>());
  }
  gids = std::move(out);
}

void settle_hca(Json& hca) {
  if (!hca.is_object()) return;
  settle_gids(hca);
  settle_rate(hca, "rate_gbps", 'g');
  if (!hca.contains("ports")) return;
  Json& ports = hca["ports"];
  if (all_objects(ports)) ports = by_key(std::move(ports), "port");
  if (!ports.is_array()) return;
  for (Json& port : ports) {
    if (!port.is_object()) continue;
    settle_gids(port);
    settle_rate(port, "rate_gbps", 'g');
  }
}

Status settle_pod(Json& pod) {
  if (!pod.is_object()) return {};
  for (const char* name : {"hcas", "netdevs", "plugins"}) {
    settle_list(pod, name);
  }
  settle_gpus(pod);
  for (const char* name : {"environment", "nccl_conf", "nccl_user_conf"}) {
    settle_variables(pod, name);
  }
  if (pod.contains("hcas") && pod["hcas"].is_array()) {
    for (Json& hca : pod["hcas"]) settle_hca(hca);
  }
  if (pod.contains("netdevs") && pod["netdevs"].is_array()) {
    for (Json& netdev : pod["netdevs"]) {
      if (netdev.is_object()) settle_rate(netdev, "speed_mbps", 'm');
    }
  }
  if (pod.contains("nccl_version") && pod["nccl_version"].is_number_float()) {
    return fail({.code = "facts_invalid",
                 .what = "nccl_version",
                 .why = "the number " + pod["nccl_version"].dump() +
                        " may be more than one version",
                 .where = {},
                 .hint = "write it as a text, \"2.30.7\""});
  }
  return {};
}

// {"worker-0": {…}, "worker-1": {…}}: each value has fields of a pod.
bool is_map_of_pods(const Json& json) {
  return all_objects(json) &&
         std::all_of(json.begin(), json.end(), [](auto& item) {
           return std::any_of(
               kOfPods.begin(), kOfPods.end(),
               [&](const char* field) { return item.contains(field); });
         });
}

}  // namespace

Status settle_forms(Json& pods) {
  if (is_map_of_pods(pods)) pods = by_key(std::move(pods), "name");
  if (pods.is_object()) return settle_pod(pods);
  if (!pods.is_array()) return {};
  for (Json& pod : pods) {
    if (Status status = settle_pod(pod); !status) return status;
  }
  return {};
}

std::string without_gid_frame(std::string_view line) {
  const std::string lower = to_lower(line);
  const size_t at = lower.find("gid[");
  const size_t end = at == lower.npos ? at : lower.find(']', at);
  if (end == lower.npos) return std::string(line);
  const size_t colon = end + 1 < line.size() && line[end + 1] == ':' ? 1 : 0;
  return std::string(line.substr(0, at)) +
         std::string(trim(line.substr(at + 4, end - at - 4))) + " " +
         std::string(line.substr(end + 1 + colon));
}

std::string field_meant_by(std::string_view key) {
  const std::string lower = to_lower(key);
  for (const auto& [written, meant] : kMeant) {
    if (lower == written) return std::string(meant);
  }
  return "";
}

}  // namespace muster
