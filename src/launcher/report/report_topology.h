// SPDX-License-Identifier: Apache-2.0
// A worker and its ranks, in one short line each, for the report page. Pure.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "job/node_facts.h"

namespace muster {

// "0-7", "0, 2, 4"; the first eight ranges. "" for none.
std::string ranks_text(std::vector<int> numbers);

// The ranks of a worker.
std::string ranks_on(const std::vector<RankEvidence>& ranks, int node);

// "8 GPUs, 64 CPUs, 512 GiB, openmpi 4.1.4, eth0 10.1.2.3"; omits the unknown.
std::string machine_text(const NodeFacts& facts);

}  // namespace muster
