// SPDX-License-Identifier: Apache-2.0
// Sentences about the strain that held the nodes of a job back: for a verdict
// that it may explain (a watchdog that waited in vain, a lost RDMA connection)
// and for the summary of a success. Says nothing below the thresholds in
// strain.cc: every job is held back a little. Pure.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

enum class StrainKind { kNetwork, kCpu, kMemory, kStorage, kGpu };

// "held back by the CPU limit, share of the time: worker-3 62 %"; "" below the
// thresholds. The worst nodes first, at most three.
std::string strain_text(const std::vector<NodeEvidence>& nodes,
                        StrainKind kind);

// "busiest on the network: worker-2, 180 Gb/s by RDMA, 45 % of its ports' 400
// Gb/s"; "" if unknown.
std::string network_rate_text(const std::vector<NodeEvidence>& nodes);

// "GPU use 87 % of 16, least on worker-3 with 41 %"; "" without GPUs.
std::string gpu_use_text(const std::vector<NodeEvidence>& nodes);

}  // namespace muster
