// SPDX-License-Identifier: Apache-2.0
// Facts to JSON: only what is known is written. Pure.
#include <nlohmann/json.hpp>

#include "fabric/facts/facts_fields.h"
#include "fabric/facts/facts_json.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;
using facts_fields::visit;

class FactsOut {
 public:
  Json json = Json::object();

  void field(const char* name, int value) {
    if (value >= 0) json[name] = value;
  }
  void field(const char* name, int64_t value) {
    if (value >= 0) json[name] = value;
  }
  void field(const char* name, double value) {
    if (value >= 0) json[name] = value;
  }
  void field(const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  }
  void field(const char* name, const Known& value) {
    if (value) json[name] = *value;
  }
  void field(const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) json[name] = values;
  }
  void field(const char* name,
             const std::optional<std::vector<std::string>>& values) {
    if (values) json[name] = *values;
  }
  void field(const char* name,
             const std::map<std::string, std::string>& values) {
    if (!values.empty()) json[name] = values;
  }
  template <class Item>
  void field(const char* name, const std::optional<std::vector<Item>>& items) {
    if (items) list(name, *items);
  }
  void ports(const char* name, const std::vector<FabricPort>& items) {
    if (!items.empty()) list(name, items);
  }
  void bytes(const char* name, int64_t value) {
    if (value == -1 && std::string_view(name) == "memlock_bytes") {
      json[name] = "unlimited";
    } else {
      field(name, value);
    }
  }
  template <class Value>
  void object(const char* name, const Value& value) {
    FactsOut inner;
    visit(inner, value);
    if (!inner.json.empty()) json[name] = std::move(inner.json);
  }

 private:
  template <class Item>
  void list(const char* name, const std::vector<Item>& items) {
    Json& out = json[name] = Json::array();
    for (const Item& item : items) {
      FactsOut inner;
      visit(inner, item);
      out.push_back(std::move(inner.json));
    }
  }
};

}  // namespace

std::string write_facts(const std::vector<PodFabric>& pods) {
  Json out;
  out["format"] = 1;
  out["pods"] = Json::array();
  for (const PodFabric& pod : pods) {
    FactsOut writer;
    visit(writer, pod);
    out["pods"].push_back(std::move(writer.json));
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster
