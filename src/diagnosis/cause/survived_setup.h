// SPDX-License-Identifier: Apache-2.0
// SurvivedSetup: a shell without nvidia-smi, conda or its modules goes on. Only
// what hardly any line follows may have been the end, or a shell's own code for
// "not found". Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class SurvivedSetup {
 public:
  // A line that tells of no end. `rank` -1: nobody's.
  void record(int rank, const LineEvidence& line);
  // Takes out what the shell went on from.
  void drop(std::vector<Candidate>& candidates) const;

 private:
  [[nodiscard]] size_t lines_behind(const Candidate& candidate) const;

  std::vector<int64_t> times_;
  std::vector<int> ranks_;
};

}  // namespace muster
