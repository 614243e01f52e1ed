// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_software.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text.h"
#include "fabric/facts/facts_keys.h"
#include "fabric/facts/facts_names.h"
#include "fabric/facts/facts_pasted.h"
#include "fabric/facts/facts_words.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// "provider: efa" -> "efa"; nothing for other keys.
std::optional<std::string> value_of(std::string_view line,
                                    std::string_view key) {
  line = trim(line);
  if (!line.starts_with(key)) return std::nullopt;
  line = trim(line.substr(key.size()));
  if (!line.starts_with(':')) return std::nullopt;
  return std::string(trim(line.substr(1)));
}

// The entry of that name, made if need be.
Json& entry_of(Json& list, const std::string& name) {
  for (Json& entry : list) {
    if (entry["name"] == name) return entry;
  }
  list.push_back(Json{{"name", name}});
  return list.back();
}

void add_domain(Json& provider, const std::string& domain) {
  Json& domains = provider["domains"];
  if (!domains.is_array()) domains = Json::array();
  const bool known =
      std::find(domains.begin(), domains.end(), Json(domain)) != domains.end();
  if (!known) domains.push_back(domain);
}

// "efa, tcp", {"efa": ["rdmap0s6"]}, the tool's output.
void settle_providers(Json& library) {
  if (!library.is_object() || !library.contains("providers")) return;
  Json& list = library["providers"];
  if (const auto text = text_of_lines(list)) {
    const Json read = pasted_providers(*text);
    if (!read.empty()) list = read;
  }
  if (list.is_string()) {
    const std::string text = list.get<std::string>();
    const std::string word = to_lower(trim(text));
    if (word.empty() || word == "unknown" || word == "?") {
      library.erase("providers");
      return;
    }
    list = word == "none" ? Json::array() : listed_texts(text);
  }
  if (!list.is_object()) return;
  for (Json& item : list) {
    if (!item.is_object()) item = Json{{"domains", std::move(item)}};
  }
  list = by_key(std::move(list), "name");
}

}  // namespace

Json pasted_providers(std::string_view text) {
  Json out = Json::array();
  std::string provider;
  for (const auto line : split(text, '\n')) {
    const auto name = value_of(line, "provider");
    const auto domain = value_of(line, "domain");
    if (name) entry_of(out, provider = *name);
    if (domain && !provider.empty()) {
      add_domain(entry_of(out, provider), *domain);
    }
  }
  if (!out.empty()) return out;
  // "efa:", and below it "    version: 119.0"
  bool versions = false;
  for (const auto line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const bool inner = line.starts_with(' ') || line.starts_with('\t');
    versions = versions || (inner && value_of(line, "version"));
    if (inner) continue;
    const auto words = split_words(line);
    if (words.size() != 1 || !words[0].ends_with(':')) return Json::array();
    entry_of(out, std::string(words[0].substr(0, words[0].size() - 1)));
  }
  return versions ? out : Json::array();
}

void settle_software(Json& pod) {
  for (const char* name : {"mpi", "ucx", "libfabric"}) {
    if (!pod.contains(name)) continue;
    if (pod[name].is_string()) {
      pod[name] = library_of_words(pod[name].get<std::string>());
    }
    settle_providers(pod[name]);
  }
  std::string key;
  for (const auto& item : pod.items()) {
    if (plain_field_name(item.key()).starts_with("fi_info")) key = item.key();
  }
  if (key.empty()) return;
  const auto text = text_of_lines(pod[key]);
  Json read = text ? pasted_providers(*text) : Json::array();
  if (read.empty()) return;  // said to be an unknown field
  pod.erase(key);
  if (!pod.contains("libfabric")) pod["libfabric"] = Json::object();
  if (pod["libfabric"].is_object()) {
    pod["libfabric"]["providers"] = std::move(read);
  }
}

}  // namespace muster
