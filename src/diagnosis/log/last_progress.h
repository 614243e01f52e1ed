// SPDX-License-Identifier: Apache-2.0
// The progress of a job in its own lines: "epoch 45/100", "step 1200". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

// One word of progress: "step 1200/5000".
struct ProgressMark {
  std::string unit;  // lower case
  int64_t at = 0;
  int64_t total = 0;  // 0: not said
};
// All in one line, as they stand there: "epoch 3/10, step 700".
std::vector<ProgressMark> progress_marks(std::string_view line);
std::string progress_text(const std::vector<ProgressMark>& marks);
// The loss that a line of training tells, as it is written there: "0.693";
// empty: none.
std::string loss_in(std::string_view line);
// The progress in one line; empty: none.
std::string progress_in(std::string_view line);
// The newest among the last lines of all ranks.
std::string last_progress(const std::vector<RankEvidence>& ranks);

}  // namespace muster
