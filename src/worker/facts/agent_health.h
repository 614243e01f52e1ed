// SPDX-License-Identifier: Apache-2.0
// The payload of a heartbeat: the pod's memory against its limit, and its use
// so far. On cgroup v2 an OOM kill takes the agent too, so the evidence must
// leave the pod before. Reads a handful of small files, and one for each
// process of the pod; loop thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "wire/messages.h"
#include "wire/pod_counters.h"
#include "worker/facts/facts_cgroup.h"
#include "worker/facts/grown_errors.h"

namespace muster {

class HealthSampler {
 public:
  // `root` is put before every absolute path (tests); "" for the real one.
  explicit HealthSampler(std::string root);

  [[nodiscard]] wire::HealthSample sample() const;
  wire::PodCounters counters();
  // What `ranks` (frame id, pid) and all below them have used: by a walk over
  // /proc, or as of the last one where the next would take more than a
  // kRankShare-th of one CPU.
  void tell_ranks(const std::vector<std::pair<uint32_t, pid_t>>& ranks,
                  wire::PodCounters& out);
  [[nodiscard]] const CgroupPlace& cgroup() const { return place_; }
  // Bytes with and without page cache; -1 if unknown.
  [[nodiscard]] int64_t memory_charge() const;
  [[nodiscard]] int64_t memory_usage() const;
  // The cgroup's oom_kill counter; -1 if unknown.
  [[nodiscard]] int64_t oom_kills() const;

 private:
  static constexpr int kRankShare = 400;

  std::string root_;
  CgroupPlace place_;
  GrownErrors errors_;
  std::vector<wire::RankUse> ranks_;
  int64_t ranks_at_ms_ = -1;
  int64_t next_walk_us_ = 0;  // by the steady clock
};

}  // namespace muster
