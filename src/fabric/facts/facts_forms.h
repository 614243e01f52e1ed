// SPDX-License-Identifier: Apache-2.0
// Converts the other ways in which people write facts into the form of
// docs/facts-schema.md: lists as objects by name ("hcas": {"mlx5_0": {…}}),
// "gpus": 8, "NAME=VALUE" lines, rates in Mb/s. Leaves text in that form, and
// nonsense, alone. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/facts/facts_budget.h"

namespace muster {

// `pods`: the value of "pods", or a pod, or a list of pods. `notes`: fields by
// other names than the schema's.
Status settle_forms(nlohmann::json& pods, FactsBudget& budget,
                    std::vector<std::string>& notes);
// "GID[  3]: ADDRESS" of ibv_devinfo -> "3 ADDRESS": its brackets do not mean a
// range.
std::string without_gid_frame(std::string_view line);

}  // namespace muster
