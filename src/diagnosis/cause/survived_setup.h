// SPDX-License-Identifier: Apache-2.0
// SurvivedSetup: a shell without nvidia-smi, conda or its modules goes on. Only
// what hardly any line follows may have been the end, or a shell's own code for
// "not found". Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class SurvivedSetup {
 public:
  // A line that tells of no end. `rank` -1: of none.
  void record(int rank, const LineEvidence& line);
  // Takes out what the shell went on from.
  void drop(std::vector<Candidate>& candidates) const;

 private:
  struct LastTwo {
    int64_t last = INT64_MIN;
    int64_t before = INT64_MIN;
    void add(int64_t time_ns);
  };
  // Two lines, of the same rank where it is known.
  [[nodiscard]] bool lines_behind(const Candidate& candidate) const;

  LastTwo all_;
  std::map<int, LastTwo> of_rank_;
};

}  // namespace muster
