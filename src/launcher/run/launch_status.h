// SPDX-License-Identifier: Apache-2.0
// Builds the JobStatus of a launch from its running parts. Pure.
#pragma once

#include <vector>

#include "launcher/connect/fleet.h"
#include "launcher/report/status.h"
#include "launcher/run/job_run.h"
#include "launcher/run/pod_record.h"

namespace muster {

// Nodes that are hosts of the job, in hostfile order.
std::vector<WorkerStatus> worker_status(const Fleet& fleet,
                                        const std::vector<uint16_t>& nodes,
                                        const PodRecords& pods);

std::vector<RankStatus> rank_status(const JobRun& run);

}  // namespace muster
