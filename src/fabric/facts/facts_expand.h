// SPDX-License-Identifier: Apache-2.0
// "mlx5_[0-7]" in a facts file: an object whose name has brackets becomes one
// object per number, and every text below it whose brackets list as many
// numbers expands in step. Lets a person write eight rails as one line. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/facts/facts_budget.h"

namespace muster {

// "a[0,2-3]b" -> {"a0b", "a2b", "a3b"}; text without brackets -> itself.
// At most 4096 numbers and 64 MiB; error code "facts_invalid".
Result<std::vector<std::string>> expand_brackets(std::string_view text);

// Expands lists of named objects everywhere in `json`, innermost first.
Status expand_facts(nlohmann::json& json, FactsBudget& budget);

}  // namespace muster
