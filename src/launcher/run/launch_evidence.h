// SPDX-License-Identifier: Apache-2.0
// What the launcher knows about a run, as Evidence for the diagnosis. Pure.
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

// One entry per rank that was planned or seen; `planned`: first of those that
// never showed up are named too, by number alone.
std::vector<RankEvidence> rank_evidence(const JobRun& run,
                                        const RankOutput& output,
                                        int planned_ranks);

// A rank's program was over by an exception when the job was stopped, whatever
// it was stopped for: its evidence says that it exited with 1.
bool ended_by_exception(const JobRun& run);

std::vector<NodeEvidence> node_evidence(const Fleet& fleet,
                                        const PodRecords& pods,
                                        const std::vector<Laggard>& laggards);

// The pod's GPUs, and the variable of `env`, its ranks', that hides them all.
void add_gpus(const NodeFacts& facts, const std::vector<EnvDecision>& env,
              NodeEvidence& node);

// The GPUs that each rank was given; empty where it was given none.
void add_rank_gpus(const Plan& plan, const JobBinding& binding,
                   std::vector<RankEvidence>& ranks);

// Fills what the run itself says: how it was stopped, mpirun's end.
void add_run(const JobRun& run, const RankOutput& output, JobEvidence& job);

}  // namespace muster
