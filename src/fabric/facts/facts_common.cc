// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_common.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "fabric/facts/facts.h"
#include "fabric/facts/facts_fields.h"

namespace muster {

namespace {

using Json = nlohmann::json;
using facts_fields::visit;

// The most bytes of text that all copies of the common fields may take.
constexpr size_t kMostCopied = 64 << 20;

// Those that tell one pod from another are not asked for.
class CommonFields {
 public:
  explicit CommonFields(const Json& beside) : beside_(beside) {}

  template <class Value>
  void field(const char* name, const Value&) {
    const std::string_view asked = name;
    known.emplace_back(name);
    if (asked == "name" || asked == "node" || asked == "peer_address") return;
    if (beside_.contains(name)) found[name] = beside_[name];
  }
  void bytes(const char* name, int64_t value) { field(name, value); }
  template <class Value>
  void object(const char* name, const Value& value) {
    field(name, value);
  }

  Json found = Json::object();
  std::vector<std::string> known;

 private:
  const Json& beside_;
};

// Of where the facts are from, and what a test wants of them.
constexpr std::array kRemarks = {
    "comment",     "note", "notes",     "source", "url",     "link",  "title",
    "description", "date", "published", "expect", "request", "issue", "format"};

void note_unknown(const Json& beside, const CommonFields& common,
                  std::vector<std::string>& notes) {
  constexpr size_t kMost = 8;
  size_t told = 0;
  for (const auto& item : beside.items()) {
    const std::string& key = item.key();
    const auto is = [&](const auto& name) { return key == name; };
    if (key.starts_with("_") || told >= kMost ||
        std::any_of(kRemarks.begin(), kRemarks.end(), is) ||
        std::any_of(common.known.begin(), common.known.end(), is)) {
      continue;
    }
    ++told;
    if (key == "profile" || key == "site") {
      notes.push_back(key + " beside pods is not a fact; give --" + key);
      continue;
    }
    const std::string meant = nearest(key, common.known).value_or("");
    notes.push_back(key.substr(0, 60) + " beside pods is not a known field" +
                    (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
}

void add_missing(const Json& common, Json& pod) {
  for (const auto& [name, value] : common.items()) {
    if (!pod.contains(name)) {
      pod[name] = value;
      continue;
    }
    const bool variables = name == "environment" || name == "nccl_conf" ||
                           name == "nccl_user_conf";
    if (!variables || !value.is_object() || !pod[name].is_object()) continue;
    for (const auto& [variable, text] : value.items()) {
      if (!pod[name].contains(variable)) pod[name][variable] = text;
    }
  }
}

}  // namespace

Status take_common_fields(const Json& beside, Json& pods,
                          std::vector<std::string>& notes) {
  if (!beside.is_object()) return {};
  CommonFields common(beside);
  const PodFabric pod;
  visit(common, pod);
  note_unknown(beside, common, notes);
  if (common.found.empty()) return {};
  const size_t copies = pods.is_array() ? pods.size() : 1;
  const size_t size =
      common.found.dump(-1, ' ', false, Json::error_handler_t::replace).size();
  if (copies > kMostCopied / size) {
    return fail({.code = "facts_invalid",
                 .what = "cannot read the facts",
                 .why = "the fields beside pods are too large for " +
                        std::to_string(copies) + " pods",
                 .where = {},
                 .hint = "write them in each pod"});
  }
  if (pods.is_object()) add_missing(common.found, pods);
  if (pods.is_array()) {
    for (Json& each : pods) {
      if (each.is_string()) each = Json{{"name", each.get<std::string>()}};
      if (each.is_object()) add_missing(common.found, each);
    }
  }
  for (const auto& item : common.found.items()) {
    notes.push_back(item.key() + " beside pods is taken for every pod" +
                    " that does not say otherwise");
  }
  return {};
}

}  // namespace muster
