// SPDX-License-Identifier: Apache-2.0
// SurvivedSetup: a shell without nvidia-smi, conda or its modules goes on. Such
// a line explains the end only if hardly any line follows, or the code is a
// shell's own "not found". Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class SurvivedSetup {
 public:
  // A line that reports no end. `rank` -1: none.
  void record(int rank, const LineEvidence& line);
  // Removes failures that the shell survived.
  void drop(std::vector<Candidate>& candidates) const;

 private:
  struct LastTwo {
    int64_t last = INT64_MIN;
    int64_t before = INT64_MIN;
    void add(int64_t time_ns);
  };
  // Two lines, of the same rank if known.
  [[nodiscard]] bool lines_behind(const Candidate& candidate) const;

  LastTwo all_;
  std::map<int, LastTwo> of_rank_;
};

}  // namespace muster
