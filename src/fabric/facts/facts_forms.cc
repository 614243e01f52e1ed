// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_forms.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fabric/facts/facts_keys.h"
#include "fabric/facts/facts_names.h"
#include "fabric/facts/facts_pasted.h"
#include "fabric/facts/facts_software.h"
#include "fabric/facts/facts_words.h"
#include "fabric/facts/gpu_forms.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr std::array kOfPods = {
    "hcas",         "netdevs",   "gpus",      "environment",   "shape",
    "nccl_version", "pci_hcas",  "vendor",    "product",       "mpi",
    "ucx",          "libfabric", "nccl_conf", "nccl_user_conf"};

constexpr std::array kOfPorts = {"state",  "link_layer", "rate_gbps",  "mtu",
                                 "netdev", "gids",       "phys_state", "pkeys"};

// {"eth0": "10.0.0.1/24"}, {"mlx5_0": "InfiniBand"}
void settle_short_values(Json& list, const char* field) {
  if (list.is_object() && list.empty()) list = Json::array();
  if (!list.is_object()) return;
  for (Json& item : list) {
    if (item.is_null()) item = Json::object();
    if (item.is_string() || item.is_array()) item = Json{{field, item}};
  }
}

// Lines of NCCL's log among the entries of a list.
void spread_lines(Json& list, Json (*of_log)(std::string_view)) {
  if (!list.is_array()) return;
  Json out = Json::array();
  for (Json& item : list) {
    const std::string text = item.is_string() ? item.get<std::string>() : "";
    const bool first =
        text.starts_with("[0]") || text.find(" [0]") != text.npos;
    const Json found = first ? of_log(text) : Json::array();
    for (const Json& entry : found) out.push_back(entry);
    if (found.empty()) out.push_back(std::move(item));
  }
  list = std::move(out);
}

// Entries and whole lists that are one text.
template <class OfWords>
Status settle_words(Json& list, OfWords of_words) {
  if (list.is_string()) list = listed_texts(list.get<std::string>());
  if (!list.is_array()) return {};
  for (Json& item : list) {
    if (!item.is_string()) continue;
    auto read = of_words(item.get<std::string>());
    if (!read) return fail(read.error());
    item = std::move(*read);
  }
  return {};
}

Status settle_lists(Json& pod) {
  if (pod.contains("hcas")) {
    Json& list = pod["hcas"];
    settle_short_values(list, "link_layer");
    if (list.is_string()) list = listed_hcas(list.get<std::string>());
    name_counted(list);
    spread_lines(list, hcas_of_log);
    if (all_objects(list)) list = by_key(std::move(list), "name");
    if (Status status = settle_words(list, hca_of_words); !status) {
      return status;
    }
  }
  if (pod.contains("netdevs")) {
    Json& list = pod["netdevs"];
    settle_short_values(list, "addresses");
    if (list.is_string()) list = listed_netdevs(list.get<std::string>());
    spread_lines(list, netdevs_of_log);
    if (all_objects(list)) list = by_key(std::move(list), "name");
    if (Status status = settle_words(list, netdev_of_words); !status) {
      return status;
    }
  }
  if (pod.contains("plugins")) {
    Json& list = pod["plugins"];
    settle_short_values(list, "version");
    if (all_objects(list)) list = by_key(std::move(list), "name");
    return settle_words(list, [](const std::string& text) -> Result<Json> {
      return plugin_of_words(text);
    });
  }
  return {};
}

// Numbers and words of JSON mean what a shell would be given; containers get
// what Apptainer's own prefix stands before.
void settle_values(Json& variables) {
  std::vector<std::string> prefixed;
  for (auto& item : variables.items()) {
    Json& value = item.value();
    if (value.is_boolean()) value = value.get<bool>() ? "1" : "0";
    for (const char* prefix : {"APPTAINERENV_", "SINGULARITYENV_"}) {
      if (item.key().starts_with(prefix)) prefixed.push_back(item.key());
    }
  }
  for (const std::string& name : prefixed) {
    const std::string bare = name.substr(name.find('_') + 1);
    if (!bare.empty()) variables[bare] = variables[name];
    variables.erase(name);
  }
}

// ["NCCL_DEBUG=INFO"], one text of such lines, or a pod's own
// [{"name": "NCCL_DEBUG", "value": "INFO"}] -> {"NCCL_DEBUG": "INFO"}
void settle_variables(Json& pod, const char* name) {
  if (!pod.contains(name)) return;
  Json& given = pod[name];
  if (given.is_object()) {
    for (auto item = given.begin(); item != given.end();) {
      item = item->is_null() ? given.erase(item) : std::next(item);
    }
  }
  if (given.is_object()) settle_values(given);
  if (given.is_string()) given = Json::array({given});
  if (!given.is_array()) return;
  std::erase_if(given.get_ref<Json::array_t&>(), [](const Json& line) {
    return line.is_string() && trim(line.get<std::string>()).empty();
  });
  Json out = Json::object();
  for (const Json& line : given) {
    if (line.is_object() && line.contains("name") && line["name"].is_string()) {
      const bool known = line.contains("value");  // not valueFrom
      if (known) out[line["name"].get<std::string>()] = line["value"];
      continue;
    }
    const std::string text = line.is_string() ? line.get<std::string>() : "";
    const bool conf = std::string_view(name) != "environment";
    const Json read = conf ? conf_of_lines(text) : variables_of_words(text);
    if (read.empty()) return;
    out.update(read);
  }
  settle_values(out);
  given = std::move(out);
}

// A line, or its words as a manifest has them.
std::string text_of_words(const Json& given) {
  if (given.is_string()) return given.get<std::string>();
  std::string out;
  if (!given.is_array()) return out;
  for (const Json& word : given) {
    if (!word.is_string()) return "";
    out += (out.empty() ? "" : " ") + word.get<std::string>();
  }
  return out;
}

// The launcher's line beside variables that stand by themselves; where there
// are none it is read as them.
void take_command(Json& pod) {
  std::vector<std::string> keys;
  for (const auto& item : pod.items()) {
    if (is_command_field(plain_field_name(item.key()))) {
      keys.push_back(item.key());
    }
  }
  for (const std::string& key : keys) {
    const auto words = text_of_words(pod[key]);
    if (words.empty()) continue;
    Json line = Json{{"environment", words}};
    settle_variables(line, "environment");
    const Json& read = line["environment"];
    if (!read.is_object() || read.empty()) continue;  // told as unknown
    pod.erase(key);
    Json& all = pod["environment"];
    if (all.is_null()) all = Json::object();
    if (!all.is_object()) continue;
    for (const auto& [name, value] : read.items()) {
      if (!all.contains(name)) all[name] = value;
    }
  }
}

// A rate in the field's unit: "400000 Mb/s" of Gb/s, "25G" of Mb/s.
Status settle_rate(Json& holder, const char* name, double gbps_of_one) {
  if (!holder.contains(name) || !holder[name].is_string()) return {};
  const std::string text = holder[name].get<std::string>();
  const auto gbps = gbps_of_words(text, gbps_of_one);
  if (!gbps) {
    return fail({.code = "facts_invalid",
                 .what = name,
                 .why = "\"" + text.substr(0, 60) + "\" is not a rate",
                 .where = {},
                 .hint = "write 400, \"400 Gb/s\", \"NDR\" or \"4X NDR\""});
  }
  if (*gbps > 0) holder[name] = *gbps / gbps_of_one;
  if (*gbps <= 0) holder.erase(name);  // "unknown"
  return {};
}

// "none" is an empty list: looked, none. "unknown" is nothing at all.
void settle_none(Json& pod) {
  for (const char* name :
       {"hcas", "netdevs", "gpus", "plugins", "pci_hcas", "modules"}) {
    if (!pod.contains(name)) continue;
    if (pod[name].is_boolean() && !pod[name].get<bool>()) {
      pod[name] = Json::array();
    }
    if (!pod[name].is_string()) continue;
    const std::string word = to_lower(trim(pod[name].get<std::string>()));
    if (word == "none" || word == "no" || word == "-") {
      pod[name] = Json::array();
    } else if (word.empty() || word == "unknown" || word == "?" ||
               word == "n/a") {
      pod.erase(name);
    }
  }
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

void name_gids(Json& owner, std::vector<std::string>& notes) {
  if (!owner.contains("gids") || !owner["gids"].is_array()) return;
  for (Json& gid : owner["gids"]) rename_fields(gid, FactsPlace::kGid, notes);
}

// "UP", "DOWN" and "UNKNOWN" of ip.
void settle_link_state(Json& netdev) {
  if (!netdev.contains("up") || !netdev["up"].is_string()) return;
  const std::string word = to_lower(netdev["up"].get<std::string>());
  if (word == "up" || word == "connected") netdev["up"] = true;
  if (word == "down" || word == "lowerlayerdown") netdev["up"] = false;
  if (word == "unknown" || word == "dormant") netdev.erase("up");
}

Status settle_hca(Json& hca, FactsBudget& budget,
                  std::vector<std::string>& notes) {
  if (!hca.is_object()) return {};
  rename_fields(hca, FactsPlace::kHca, notes);
  settle_gids(hca);
  name_gids(hca, notes);
  if (Status status = settle_rate(hca, "rate_gbps", 1); !status) return status;
  if (!hca.contains("ports")) return {};
  Json& ports = hca["ports"];
  if (all_objects(ports)) ports = by_key(std::move(ports), "port");
  if (ports.is_object()) ports = Json::array({ports});
  if (!ports.is_array()) return {};
  for (const char* name : kOfPorts) {  // what stands beside is for all ports
    if (!hca.contains(name)) continue;
    if (Status enough = budget.spend(ports.size(), hca[name], name); !enough) {
      return enough;
    }
    for (Json& port : ports) {
      if (port.is_object() && !port.contains(name)) port[name] = hca[name];
    }
    hca.erase(name);
  }
  for (Json& port : ports) {
    if (!port.is_object()) continue;
    rename_fields(port, FactsPlace::kPort, notes);
    settle_gids(port);
    name_gids(port, notes);
    Status status = settle_rate(port, "rate_gbps", 1);
    if (!status) return status;
  }
  return {};
}

// "2.22.3" under a name of RCCL's tells which library it is.
void name_rccl(Json& pod) {
  for (const char* name : {"rccl", "rccl_version"}) {
    if (!pod.contains(name) || !pod[name].is_string()) continue;
    const std::string version = pod[name].get<std::string>();
    if (to_lower(version).find("rccl") == std::string::npos) {
      pod[name] = "RCCL " + version;
    }
  }
}

// A shell's `ulimit -l` counts KiB.
void name_ulimit(Json& pod) {
  for (auto item = pod.begin(); item != pod.end(); ++item) {
    const std::string name = plain_field_name(item.key());
    if (name != "ulimit_l" && name != "max_locked_memory") continue;
    Json& value = item.value();
    const std::string text =
        value.is_string() ? value.get<std::string>() : value.dump();
    if (parse_integer(trim(text))) value = std::string(trim(text)) + " KiB";
  }
}

Status settle_pod(Json& pod, FactsBudget& budget,
                  std::vector<std::string>& notes) {
  if (!pod.is_object()) return {};
  name_rccl(pod);
  name_ulimit(pod);
  rename_fields(pod, FactsPlace::kPod, notes);
  settle_none(pod);
  take_nccl_log(pod);
  settle_pasted_lists(pod);
  if (Status status = settle_lists(pod); !status) return status;
  if (Status status = settle_gpus(pod, budget); !status) return status;
  if (pod.contains("gpus") && pod["gpus"].is_array()) {
    for (Json& gpu : pod["gpus"]) {
      rename_fields(gpu, FactsPlace::kGpu, notes);
    }
  }
  if (Status status = take_outputs(pod, budget); !status) return status;
  for (const char* name : {"environment", "nccl_conf", "nccl_user_conf"}) {
    settle_variables(pod, name);
  }
  take_command(pod);
  settle_software(pod);
  if (pod.contains("hcas") && pod["hcas"].is_array()) {
    for (Json& hca : pod["hcas"]) {
      if (Status status = settle_hca(hca, budget, notes); !status) {
        return status;
      }
    }
  }
  if (pod.contains("netdevs") && pod["netdevs"].is_array()) {
    for (Json& netdev : pod["netdevs"]) {
      rename_fields(netdev, FactsPlace::kNetdev, notes);
      if (!netdev.is_object()) continue;
      settle_link_state(netdev);
      Status status = settle_rate(netdev, "speed_mbps", 0.001);
      if (!status) return status;
    }
  }
  if (pod.contains("nccl_version") && pod["nccl_version"].is_number_float()) {
    return fail({.code = "facts_invalid",
                 .what = "nccl_version",
                 .why = "the number " + pod["nccl_version"].dump() +
                        " of \"nccl_version\" may be more than one version",
                 .where = {},
                 .hint = "write it as a text, \"2.30.7\""});
  }
  return {};
}

bool is_field_of_pod(const std::string& key) {
  const std::string name = plain_field_name(key);
  return std::any_of(kOfPods.begin(), kOfPods.end(),
                     [&](const char* field) { return name == field; }) ||
         is_other_name_in_pod(name);
}

// {"worker-0": {…}, …}: some value has fields of a pod, and no key is one.
bool is_map_of_pods(const Json& json) {
  if (!all_objects(json)) return false;
  bool any = false;
  for (const auto& item : json.items()) {
    if (is_field_of_pod(item.key())) return false;
    for (const auto& field : item.value().items()) {
      any = any || is_field_of_pod(field.key());
    }
  }
  return any;
}

}  // namespace

Status settle_forms(Json& pods, FactsBudget& budget,
                    std::vector<std::string>& notes) {
  if (is_map_of_pods(pods)) pods = by_key(std::move(pods), "name");
  if (pods.is_object()) return settle_pod(pods, budget, notes);
  if (!pods.is_array()) return {};
  for (Json& pod : pods) {
    if (pod.is_string()) pod = Json{{"name", pod}};
    if (Status status = settle_pod(pod, budget, notes); !status) return status;
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

}  // namespace muster
