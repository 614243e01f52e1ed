// SPDX-License-Identifier: Apache-2.0
// Outlived: failures that the log itself says are over. A pod that no node had
// room for was scheduled in the end; a failed attempt was followed by another,
// which failed for a reason of its own. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/candidate.h"

namespace muster {

class Outlived {
 public:
  // Facts of a line: scheduled, started, restart.
  void record(const Captures& facts, const LineEvidence& line);
  void drop(std::vector<Candidate>& candidates) const;

 private:
  struct Step {
    std::string host;
    int64_t time_ns = 0;
    bool started = false;  // not only scheduled
  };
  [[nodiscard]] bool came_up(const Candidate& candidate) const;

  std::vector<Step> steps_;
  int64_t restart_ns_ = -1;
};

}  // namespace muster
