// SPDX-License-Identifier: Apache-2.0
// The effective value of a variable in a pod, and its origin: the environment
// wins over ~/.nccl.conf, which wins over /etc/nccl.conf. NCCL, UCX and Open
// MPI take an empty value for unset. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabric/facts/facts.h"

namespace muster {

struct EffectiveValue {
  std::string value;
  std::string origin;  // "environment", "~/.nccl.conf", "/etc/nccl.conf"
};

std::optional<EffectiveValue> effective(const PodFabric& pod,
                                        const std::string& name);
// Names of all variables that have a value, sorted, without repeats.
std::vector<std::string> effective_names(const PodFabric& pod);
// True for "1" and other non-zero numbers, as NCCL_PARAM reads them.
bool switched_on(const PodFabric& pod, const std::string& name);

}  // namespace muster
