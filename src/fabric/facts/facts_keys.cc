// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

namespace {

using Json = nlohmann::json;

// mlx5_2 before mlx5_10: the JSON library sorts keys by their letters, and
// NCCL joins adapters by their order.
bool before(std::string_view a, std::string_view b) {
  if (a.find(':') != a.npos) return a < b;  // PCI addresses
  const auto digits = [](std::string_view text) {
    const size_t end = text.find_first_not_of("0123456789");
    return text.substr(0, end);
  };
  while (!a.empty() && !b.empty()) {
    const auto x = digits(a);
    const auto y = digits(b);
    if (!x.empty() && !y.empty() && x != y) {
      return x.size() != y.size() ? x.size() < y.size() : x < y;
    }
    const size_t step = std::max<size_t>(1, x == y ? x.size() : 0);
    if (x != y || a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(step);
    b.remove_prefix(step);
  }
  return a.size() < b.size();
}

}  // namespace

bool all_objects(const Json& json) {
  return json.is_object() && !json.empty() &&
         std::all_of(json.begin(), json.end(),
                     [](auto& item) { return item.is_object(); });
}

Json by_key(Json object, const char* field) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  std::sort(keys.begin(), keys.end(), before);
  Json out = Json::array();
  for (const std::string& key : keys) {
    Json& item = object[key];
    item[field] = key;
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace muster
