// SPDX-License-Identifier: Apache-2.0
// The payload of a heartbeat: the pod's memory against its limit, and its use
// so far. On cgroup v2 an OOM kill takes the agent too, so the evidence must
// leave the pod before. Reads a handful of small files; loop thread.
#pragma once

#include <string>

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
  [[nodiscard]] const CgroupPlace& cgroup() const { return place_; }
  // Bytes with and without page cache; -1 if unknown.
  [[nodiscard]] int64_t memory_charge() const;
  [[nodiscard]] int64_t memory_usage() const;
  // The cgroup's oom_kill counter; -1 if unknown.
  [[nodiscard]] int64_t oom_kills() const;

 private:
  std::string root_;
  CgroupPlace place_;
  GrownErrors errors_;
};

}  // namespace muster
