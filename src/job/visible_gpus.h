// SPDX-License-Identifier: Apache-2.0
// The GPUs of a pod that CUDA_VISIBLE_DEVICES and AMD's like leave visible. The
// drivers read such a list up to the first entry that is not a device. An entry
// that the facts do not cover (a part of a GPU, an identity) counts as present.
// Pure.
#pragma once

#include <vector>

#include "job/finding.h"
#include "job/placement_notes.h"

namespace muster {

// One sentence per variable, value and number of GPUs, with the hosts. An error
// if ranks of no node see a GPU, because each list begins with a missing one;
// nothing for a node without GPU.
std::vector<Finding> visible_gpu_findings(
    const std::vector<PlacedRanks>& nodes);

}  // namespace muster
