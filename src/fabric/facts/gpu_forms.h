// SPDX-License-Identifier: Apache-2.0
// The ways in which people write GPUs: 8, "8x NVIDIA H100", {"name": "NVIDIA
// H100", "count": 8}, objects by PCI address, lists of them. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "fabric/facts/facts_budget.h"

namespace muster {

// Turns the pod's "gpus" into a list of objects; leaves nonsense alone. Error
// code "facts_invalid" for a tool's output that is not read.
Status settle_gpus(nlohmann::json& pod, FactsBudget& budget);

}  // namespace muster
