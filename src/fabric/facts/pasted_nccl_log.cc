// SPDX-License-Identifier: Apache-2.0
// take_nccl_log(): what NCCL printed with NCCL_DEBUG=INFO, whole. One process
// of the pod tells all that is read here; where several hosts are in the text,
// the first one is the pod. Source: INFO() in NCCL's src/transport/net_ib,
// net_socket.cc, src/bootstrap.cc, src/plugin and src/misc/param.cc.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "fabric/facts/facts_names.h"
#include "fabric/facts/facts_pasted.h"
#include "fabric/facts/facts_words.h"
#include "fabric/facts/nccl_version.h"
#include "fabric/facts/pasted_text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// "node1:123:456 [0] " -> "node1"
std::string host_of(std::string_view prefix) {
  for (const auto word : split_words(prefix)) {
    const size_t colon = word.find(':');
    if (colon != word.npos && colon > 0 && word.find('[') == word.npos) {
      return std::string(word.substr(0, colon));
    }
  }
  return "";
}

void add(Json& out, const char* field, Json value) {
  if (!value.empty() && !out.contains(field)) out[field] = std::move(value);
}

void take_version(std::string_view line, Json& out) {
  constexpr std::string_view kMark = "NCCL version";
  const size_t at = line.find(kMark);
  if (at == line.npos) return;
  const auto words = split_words(line.substr(at + kMark.size()));
  const size_t first = !words.empty() && words[0] == ":" ? 1 : 0;
  if (words.size() <= first || !parse_nccl_version(words[first])) return;
  const bool amds = at > 0 && line[at - 1] == 'R';
  add(out, "nccl_version", (amds ? "RCCL " : "") + std::string(words[first]));
}

// "NCCL_IB_HCA set by environment to mlx5."
void take_variable(std::string_view message, Json& out) {
  const size_t name_end = message.find(' ');
  if (!message.starts_with("NCCL_") || name_end == message.npos) return;
  for (const std::string_view words : {" set by environment to ", " set to "}) {
    if (!message.substr(name_end).starts_with(words)) continue;
    auto value = trim(message.substr(name_end + words.size()));
    if (value.ends_with('.')) value.remove_suffix(1);
    const std::string name(message.substr(0, name_end));
    if (!out["environment"].contains(name)) out["environment"][name] = value;
    return;
  }
}

void take_plugin(std::string_view message, Json& out) {
  if (!message.starts_with("NET/Plugin")) return;
  if (has(message, "No plugin found") || has(message, "Could not find")) {
    if (!out.contains("plugins")) out["plugins"] = Json::array();
    return;
  }
  const std::string name = between(message, "Loaded net plugin ", " (");
  if (name.empty()) return;
  out["plugins"] =
      Json::array({{{"name", "libnccl-net.so"}, {"network", name}}});
}

// The interface of the bootstrap: "Bootstrap : Using eth0:10.0.0.1<0>", or at
// the end of the adapters' line.
Json first_interface(std::string_view message) {
  for (const std::string_view mark : {"OOB ", "Using "}) {
    const size_t at = message.find(mark);
    if (at == message.npos) continue;
    const auto words = split_words(message.substr(at + mark.size()));
    if (words.empty() || !has(words[0], "<")) continue;
    const bool placed = words[0].starts_with('[');
    return netdevs_of_log((placed ? "" : "[0]") + std::string(words[0]));
  }
  return Json::array();
}

void take_message(std::string_view message, Json& out, Json& bootstrap) {
  take_variable(message, out);
  take_plugin(message, out);
  if (message.starts_with("NET/IB")) {
    add(out, "hcas", hcas_of_log(message));
    // It looked, and there is none that it takes.
    if (has(message, "No device found") && !out.contains("hcas")) {
      out["hcas"] = Json::array();
    }
  }
  if (message.starts_with("NET/Socket")) {
    add(out, "netdevs", netdevs_of_log(message));
  }
  const bool starts =
      message.starts_with("Bootstrap") || message.starts_with("NET/IB");
  if (starts && bootstrap.empty()) bootstrap = first_interface(message);
}

Json read_log(const std::string& text) {
  constexpr std::string_view kMark = "NCCL INFO ";
  Json out = Json::object();
  Json bootstrap = Json::array();
  std::string host;
  for (const auto line : split(text, '\n')) {
    const size_t at = line.find(kMark);
    if (at == line.npos) {
      take_version(line, out);
      continue;
    }
    const std::string own = host_of(line.substr(0, at));
    if (host.empty()) host = own;
    if (own != host) continue;
    take_version(line, out);
    take_message(trim(line.substr(at + kMark.size())), out, bootstrap);
  }
  add(out, "netdevs", std::move(bootstrap));
  return out;
}

bool is_log(const std::string& key) {
  constexpr std::array<std::string_view, 5> kNames = {
      "nccl_log", "nccl_output", "nccl_info", "nccl_debug", "log"};
  return std::find(kNames.begin(), kNames.end(), plain_field_name(key)) !=
         kNames.end();
}

}  // namespace

void take_nccl_log(Json& pod) {
  std::vector<std::string> keys;
  for (const auto& item : pod.items()) {
    if (is_log(item.key())) keys.push_back(item.key());
  }
  for (const std::string& key : keys) {
    const auto text = text_of_lines(pod[key]);
    Json read = text ? read_log(*text) : Json::object();
    if (read.empty()) continue;  // said to be an unknown field
    pod.erase(key);
    // Fields that the person wrote beside it win.
    for (const auto& item : read.items()) {
      if (!pod.contains(item.key())) pod[item.key()] = item.value();
    }
  }
}

}  // namespace muster
