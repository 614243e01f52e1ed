// SPDX-License-Identifier: Apache-2.0
// Outlived: failures that the log itself shows to be over. A pod without room
// was scheduled in the end; ranks ran after a worker could not be reached;
// another attempt followed a failed one, and ended well or failed for a reason
// of its own. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class Outlived {
 public:
  // Facts of a line: scheduled, started, restart, ran.
  void record(const Captures& facts, const LineEvidence& line);
  // A library's message that ends with "your job will continue", at `time_ns`,
  // does not explain an end.
  static void drop_excused(int64_t time_ns, std::vector<Candidate>& found);
  // A rank made progress.
  void record_progress(int64_t time_ns);
  // The last attempt was a success, with no trouble behind its start.
  [[nodiscard]] bool ended_well(int64_t success_ns, int64_t trouble_ns) const;
  void drop(std::vector<Candidate>& candidates) const;

 private:
  struct Step {  // the last ones of a pod; -1: none
    int64_t last_ns = -1;
    int64_t started_ns = -1;  // it was not only scheduled
  };
  [[nodiscard]] bool came_up(const Candidate& candidate) const;

  // By then a rank had made progress several times, not only by lookalikes.
  [[nodiscard]] int64_t ran_ns() const;

  std::map<std::string, Step> steps_;  // by host
  std::vector<int64_t> progress_ns_;   // the last ones
  int64_t restart_ns_ = -1;
  int64_t result_ns_ = -1;  // the last reported one
};

}  // namespace muster
