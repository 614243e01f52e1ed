// SPDX-License-Identifier: Apache-2.0
// StrainHistory: turns one node's counters, from its heartbeats, into the
// diagnosis' values: shares of the whole job and of the last seconds, and the
// busiest stretch on the network. Keeps a handful of samples. Ignores a counter
// that goes backwards (a pod that was replaced). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/loop.h"
#include "diagnosis/evidence.h"
#include "launcher/report/status.h"
#include "wire/pod_counters.h"

namespace muster {

class StrainHistory {
 public:
  // By a steady clock: a clock set back by an hour would hide that hour.
  void add(Clock::time_point now, const wire::PodCounters& counters);
  [[nodiscard]] NodeStrain strain() const;
  // Of the last two samples.
  [[nodiscard]] PodRates rates() const;

 private:
  struct Sample {
    int64_t time_ns = 0;
    wire::PodCounters counters;
  };
  void note_rates(const Sample& from, const Sample& to);
  void tell_gpus(NodeStrain& out) const;

  std::vector<Sample> samples_;  // the first one and the latest
  // GPUs count from the first of these on.
  std::optional<Sample> gpu_first_;
  std::optional<Sample> gpu_last_;
  double rdma_gbps_ = -1;
  double network_gbps_ = -1;
};

}  // namespace muster
