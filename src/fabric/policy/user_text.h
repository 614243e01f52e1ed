// SPDX-License-Identifier: Apache-2.0
// Variables of UCX, MPI and libfabric as their users wrote them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "fabric/policy/job_state.h"

namespace muster {

// "" if it is unset or empty, which UCX and Open MPI take for unset.
inline std::string value_of(const PodFabric& pod, const std::string& name) {
  const auto found = pod.environment.find(name);
  return found == pod.environment.end() ? "" : std::string(trim(found->second));
}

inline std::string value_of(const FabricPodState& pod,
                            const std::string& name) {
  return value_of(*pod.facts, name);
}

inline std::vector<std::string> entries_of(std::string_view value) {
  std::vector<std::string> out;
  if (value.starts_with('^')) value.remove_prefix(1);
  for (const auto part : split(value, ',')) {
    if (!trim(part).empty()) out.emplace_back(trim(part));
  }
  return out;
}

// The variables that name libfabric's providers: for all, Intel MPI, MPICH.
inline constexpr const char* kProviderVariables[] = {
    "FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MPIR_CVAR_OFI_USE_PROVIDER"};

}  // namespace muster
