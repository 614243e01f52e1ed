// SPDX-License-Identifier: Apache-2.0
// RankHistory: what one rank used and said over the last half minute, made into
// rates and means for RankStatus. Keeps a handful of samples. CPU time comes
// with the times of the rank's own pod, lines with the launcher's. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "launcher/model/process_key.h"
#include "launcher/report/status.h"
#include "wire/pod_counters.h"

namespace muster {

// A rank as the launcher sees it now.
struct RankLook {
  uint64_t lines = 0;                // that it has written so far
  std::vector<LineEvidence> newest;  // the last of these, oldest first
  std::vector<wire::GpuNow> gpus;    // those that it was given
};

class RankHistory {
 public:
  // Of a heartbeat. A sample that comes twice counts once.
  void used(int64_t at_ms, const wire::RankUse& use);
  void seen(int64_t now_ms, RankLook look);
  [[nodiscard]] uint64_t lines() const { return lines_; }
  void fill(RankStatus& out) const;

 private:
  struct Use {
    int64_t at_ms;
    int64_t cpu_us;
  };
  struct Seen {
    int64_t at_ms;
    uint64_t lines;
    double gpu_percent;  // -1: not known
    std::string progress;
  };
  void read(const std::vector<LineEvidence>& newest);

  std::vector<Use> uses_;
  std::vector<Seen> seen_;
  std::vector<wire::GpuNow> gpus_;
  int64_t memory_bytes_ = -1;
  uint64_t lines_ = 0;
  std::string last_line_;
  std::string progress_;
  std::string loss_;
};

using RankHistories = std::map<ProcessKey, RankHistory>;

}  // namespace muster
