// SPDX-License-Identifier: Apache-2.0
// Builds the JobStatus of a launch from its running parts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/connect/fleet.h"
#include "launcher/plan/rank_binding.h"
#include "launcher/report/rank_history.h"
#include "launcher/report/status.h"
#include "launcher/run/job_run.h"
#include "launcher/run/pod_record.h"

namespace muster {

// Nodes that are hosts of the job, in hostfile order.
std::vector<WorkerStatus> worker_status(const Fleet& fleet,
                                        const std::vector<uint16_t>& nodes,
                                        const PodRecords& pods);

std::vector<RankStatus> rank_status(const JobRun& run,
                                    const RankHistories& histories);

// The names of the GPUs that each rank was given.
using RankGpus = std::map<int, std::set<std::string>>;
RankGpus rank_gpus(const Plan& plan, const JobBinding& binding);

// Looks at every rank that runs; the histories of others go.
void see_ranks(const JobRun& run, const RankOutput& output,
               const PodRecords& pods, const RankGpus& gpus,
               RankHistories& histories);

}  // namespace muster
