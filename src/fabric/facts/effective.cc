// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/effective.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "fabric/facts/gpu_names.h"

namespace muster {

std::optional<EffectiveValue> effective(const PodFabric& pod,
                                        const std::string& name) {
  const auto look = [&](const auto& map,
                        std::string origin) -> std::optional<EffectiveValue> {
    const auto found = map.find(name);
    if (found == map.end() || trim(found->second).empty()) return std::nullopt;
    return EffectiveValue{found->second, std::move(origin)};
  };
  if (auto value = look(pod.environment, "environment")) return value;
  if (!name.starts_with("NCCL_") && !name.starts_with("RCCL_")) {
    return std::nullopt;
  }
  // RCCL reads files of its own.
  const std::string file = has_amd_gpus(pod) ? "rccl.conf" : "nccl.conf";
  if (auto value = look(pod.nccl_user_conf, "~/." + file)) return value;
  return look(pod.nccl_conf, "/etc/" + file);
}

std::vector<std::string> effective_names(const PodFabric& pod) {
  std::set<std::string> names;
  for (const auto* map :
       {&pod.environment, &pod.nccl_user_conf, &pod.nccl_conf}) {
    for (const auto& [name, value] : *map) names.insert(name);
  }
  return {names.begin(), names.end()};
}

bool switched_on(const PodFabric& pod, const std::string& name) {
  const auto found = effective(pod, name);
  if (!found) return false;
  const auto number = parse_integer(trim(found->value));
  return number && *number != 0;
}

}  // namespace muster
