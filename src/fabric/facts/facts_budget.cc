// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_budget.h"

#include <nlohmann/json.hpp>
#include <string>

namespace muster {

namespace {

constexpr size_t kEntry = 16;  // of a value beside its text

size_t weight_of(const nlohmann::json& value) {
  if (value.is_string()) {
    return kEntry + value.get_ref<const std::string&>().size();
  }
  size_t weight = kEntry;
  if (value.is_object()) {
    for (const auto& item : value.items()) {
      weight += item.key().size() + weight_of(item.value());
    }
  } else if (value.is_array()) {
    for (const auto& item : value) weight += weight_of(item);
  }
  return weight;
}

}  // namespace

Status FactsBudget::spend(size_t copies, std::string_view text,
                          std::string_view of) {
  return take(copies, text.size(), of);
}

Status FactsBudget::spend(size_t copies, const nlohmann::json& value,
                          std::string_view of) {
  return take(copies, weight_of(value), of);
}

Status FactsBudget::take(size_t copies, size_t weight, std::string_view of) {
  if (weight == 0 || copies <= left_ / weight) {
    left_ -= copies * weight;
    return {};
  }
  return fail({.code = "facts_invalid",
               .what = "\"" + std::string(of.substr(0, 80)) + "\"",
               .why = "the entries that it stands for make more than 64 MiB of "
                      "facts",
               .where = {},
               .hint = "write down fewer of them"});
}

}  // namespace muster
