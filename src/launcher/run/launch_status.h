// SPDX-License-Identifier: Apache-2.0
// The JobStatus of a launch, put together from what runs. Pure.
#pragma once

#include <map>
#include <vector>

#include "diagnosis/evidence.h"
#include "launcher/connect/fleet.h"
#include "launcher/report/status.h"
#include "launcher/run/job_run.h"

namespace muster {

// Nodes that are hosts of the job, in hostfile order. `greeted`: how often the
// node's agent has become ready.
std::vector<WorkerStatus> worker_status(
    const Fleet& fleet, const std::vector<uint16_t>& nodes,
    const std::map<uint16_t, std::vector<MemorySample>>& memory,
    const std::map<uint16_t, wire::PodCounters>& counters,
    const std::map<uint16_t, int>& greeted);

std::vector<RankStatus> rank_status(const JobRun& run);

}  // namespace muster
