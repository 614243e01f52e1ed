// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts_common.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "fabric/facts.h"
#include "fabric/facts_fields.h"

namespace muster {

namespace {

using Json = nlohmann::json;
using facts_fields::visit;

// What all copies of the common fields may take, as text.
constexpr size_t kMostCopied = 64 << 20;

// Those that tell one pod from another are not asked for.
class CommonFields {
 public:
  explicit CommonFields(const Json& beside) : beside_(beside) {}

  template <class Value>
  void field(const char* name, const Value&) {
    const std::string_view asked = name;
    if (asked == "name" || asked == "node" || asked == "peer_address") return;
    if (beside_.contains(name)) found[name] = beside_[name];
  }
  void bytes(const char* name, int64_t value) { field(name, value); }
  template <class Value>
  void object(const char* name, const Value& value) {
    field(name, value);
  }

  Json found = Json::object();

 private:
  const Json& beside_;
};

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
