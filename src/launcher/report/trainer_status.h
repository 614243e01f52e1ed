// SPDX-License-Identifier: Apache-2.0
// The status of a job for Kubeflow Trainer: its progress, and the time that it
// will still take. From the ranks' lines ("epoch 45/100") and the pace at which
// they change. A pure state machine; the caller brings time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

struct JobProgress {
  std::string unit;  // "epoch", "step"
  int64_t at = 0;
  int64_t total = 0;  // 0: unknown
};

// As last_progress() gives it: "epoch 45/100", "step 1200".
std::optional<JobProgress> parse_progress(const std::string& text);

class TrainerStatus {
 public:
  void note(const JobProgress& progress, int64_t now_ns);
  // The job has ended well: 100 %.
  void complete();
  // Something changed since the last json().
  [[nodiscard]] bool changed() const { return changed_; }
  // The body of a POST to the status server. `now_ns`: CLOCK_REALTIME.
  std::string json(int64_t now_ns);

 private:
  [[nodiscard]] std::optional<int64_t> remaining_seconds(int64_t now_ns) const;

  std::optional<JobProgress> first_;  // of this unit and total
  int64_t first_ns_ = 0;
  std::optional<JobProgress> last_;
  int64_t last_ns_ = 0;
  bool complete_ = false;
  bool changed_ = false;
};

}  // namespace muster
