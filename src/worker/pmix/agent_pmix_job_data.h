// SPDX-License-Identifier: Apache-2.0
// The data about the job that PMIx clients can get without asking another rank:
// sizes, places, neighbours. Maps alone for remote ranks, full data for ours,
// so that a large job does not cost memory in every rank.
// Which keys, and of which type: PMIx standard 4, "Job-realm attributes", and
// those that Open MPI 4.1 and 5 insist on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "pmi/world.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

struct PmixJobData {
  // Register them one after the other: from data of ranks beside the maps
  // libpmix no longer derives the places of all others.
  PmixInfos job;
  PmixInfos own;
  // `job` and `own` point into these.
  PmixInfos true_size;
  PmixInfos nobody;
  // Of each own rank; `own` points into them.
  std::vector<std::unique_ptr<PmixInfos>> ranks;
};

// Whether this node has more ranks than CPUs, or than its quota of them. Looks
// at the calling process.
bool oversubscribed(const World& world);

// `directory`: private to the job on this node. Error code "no_pmix".
Result<std::unique_ptr<PmixJobData>> pmix_job_data(
    const PmixLibrary& library, const World& world,
    const std::string& directory);

}  // namespace muster
