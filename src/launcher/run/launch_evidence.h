// SPDX-License-Identifier: Apache-2.0
// Turns the launcher's knowledge of a run into Evidence for the diagnosis.
// Pure.
#pragma once

#include <vector>

#include "diagnosis/evidence.h"
#include "job/env_merge.h"
#include "job/node_facts.h"
#include "launcher/connect/fleet.h"
#include "launcher/output/rank_output.h"
#include "launcher/plan/rank_binding.h"
#include "launcher/run/job_run.h"
#include "launcher/run/pod_record.h"

namespace muster {

// One entry per planned or seen rank. `planned` also names, by number alone,
// the first of those that never started.
std::vector<RankEvidence> rank_evidence(const JobRun& run,
                                        const RankOutput& output,
                                        int planned_ranks);

// An exception had ended a rank's program when the job stopped, for any reason:
// the evidence says that the rank exited with 1.
bool ended_by_exception(const JobRun& run);

std::vector<NodeEvidence> node_evidence(const Fleet& fleet,
                                        const PodRecords& pods,
                                        const std::vector<Laggard>& laggards);

// The pod's GPUs, and the variable of `env`, its ranks', that hides them all.
void add_gpus(const NodeFacts& facts, const std::vector<EnvDecision>& env,
              NodeEvidence& node);

// The GPUs of each rank; empty if it was given none.
void add_rank_gpus(const Plan& plan, const JobBinding& binding,
                   std::vector<RankEvidence>& ranks);

// Fills the facts of the run itself: how it was stopped, mpirun's end.
void add_run(const JobRun& run, const RankOutput& output, JobEvidence& job);

}  // namespace muster
