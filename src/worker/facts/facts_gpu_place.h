// SPDX-License-Identifier: Apache-2.0
// Where the pod's GPUs are, and by which name a rank can be given one of them.
// From kernel files alone, as facts_gpu.h.
#pragma once

#include <string>
#include <vector>

#include "job/node_facts.h"

namespace muster {

// One for each slice of `mig`, by its UUID; without slices one for each of
// `count` GPUs: by UUID, or by index where the driver does not tell.
std::vector<GpuPlace> nvidia_places(const std::string& root,
                                    const std::vector<std::string>& mig,
                                    size_t count);
// For "/dev/dri/renderD128": by index, which ROCR_VISIBLE_DEVICES and
// ZE_AFFINITY_MASK count by.
std::vector<GpuPlace> render_places(const std::string& root,
                                    const std::vector<std::string>& devices);

}  // namespace muster
