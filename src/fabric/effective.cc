// SPDX-License-Identifier: Apache-2.0
#include "fabric/effective.h"

#include <set>

#include "base/text.h"
#include "fabric/gpu_names.h"

namespace muster {

std::optional<EffectiveValue> effective(const PodFabric& pod,
                                        const std::string& name) {
  const auto look = [&](const auto& map,
                        const char* origin) -> std::optional<EffectiveValue> {
    const auto found = map.find(name);
    if (found == map.end() || trim(found->second).empty()) return std::nullopt;
    return EffectiveValue{found->second, origin};
  };
  if (auto value = look(pod.environment, "environment")) return value;
  if (!name.starts_with("NCCL_")) return std::nullopt;
  auto value = look(pod.nccl_user_conf, "~/.nccl.conf");
  if (!value) value = look(pod.nccl_conf, "/etc/nccl.conf");
  if (value && has_amd_gpus(pod)) {  // RCCL reads files of its own
    value->origin.replace(value->origin.find("nccl.conf"), 1, "r");
  }
  return value;
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
