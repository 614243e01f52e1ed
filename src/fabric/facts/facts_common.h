// SPDX-License-Identifier: Apache-2.0
// Fields of a pod that stand beside the list of pods hold for all of them:
// {"nccl_version": "2.21.5", "pods": […]}. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

// `beside`: the object that had `pods` in it; both in the schema's form. Skips
// fields that pods do not have (comment, source, …). `notes`: the fields taken.
Status take_common_fields(const nlohmann::json& beside, nlohmann::json& pods,
                          std::vector<std::string>& notes);

}  // namespace muster
