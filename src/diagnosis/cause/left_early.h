// SPDX-License-Identifier: Apache-2.0
// Finds a rank that leaves with code 0 and without MPI_Finalize, under a
// foreign launcher: Open MPI's names it, among others that it then ended
// itself; Hydra just kills the rest. Natively the router of fences knows. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "diagnosis/evidence.h"
#include "diagnosis/verdict.h"

namespace muster {

struct LeftEarly {
  const RankEvidence* rank = nullptr;
  Confidence confidence = Confidence::kLikely;
  int64_t time_ns = 0;  // not after the ends that it led to
};

// nullopt: none, as far as known.
std::optional<LeftEarly> left_early(const Evidence& evidence);

}  // namespace muster
