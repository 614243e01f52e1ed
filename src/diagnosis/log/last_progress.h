// SPDX-License-Identifier: Apache-2.0
// The progress of a job in its own lines: "epoch 45/100", "step 1200". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

// The progress in one line; empty: none.
std::string progress_in(std::string_view line);
// The newest among the last lines of all ranks.
std::string last_progress(const std::vector<RankEvidence>& ranks);

}  // namespace muster
