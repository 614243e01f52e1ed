// SPDX-License-Identifier: Apache-2.0
// PodRecord: the launcher's memory of one pod during a launch, for status,
// metrics and evidence. By the fleet's node; 0 is the launcher's own pod.
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "diagnosis/evidence.h"
#include "launcher/report/strain_history.h"
#include "launcher/report/xid_history.h"
#include "wire/pod_counters.h"

namespace muster {

struct PodRecord {
  std::vector<MemorySample> memory;           // the first one is the baseline
  std::optional<wire::PodCounters> counters;  // of the last heartbeat
  StrainHistory strain;
  XidHistory xids;
  int greetings = 0;     // how often its agent became ready
  int meeting_port = 0;  // free there for MASTER_PORT; 0: not known
  // The pod got a SIGTERM: before anything else ended the job, or at any time.
  bool leaves_first = false;
  bool leaves = false;
  std::optional<Error> lost;
  int64_t lost_ns = 0;
};

using PodRecords = std::map<uint16_t, PodRecord>;

// Adds a sample and drops another if there are many: never the first, which is
// the baseline, nor the largest, which a summary shows.
void keep_sample(std::vector<MemorySample>& samples, MemorySample sample);

}  // namespace muster
