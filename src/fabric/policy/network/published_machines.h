// SPDX-License-Identifier: Apache-2.0
// Machines whose makers publish which adapters are for the GPUs. A table of
// names, and so the last resort: only for adapters that are all there by these
// names, and whose purpose nothing else shows. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/facts/facts.h"

namespace muster {

struct PublishedMachine {
  const char* word;      // of the cloud's shape or the DMI product, lower case
  const char* adapters;  // "mlx5_[0-3]"
  const char* queue_pairs;  // NCCL_IB_QPS_PER_CONNECTION; "": its default
  const char* source;
};

// nullptr: not in the table.
const PublishedMachine* published_machine(const PodFabric& pod);
// Empty if the pod has not all of them, or has virtual functions.
std::vector<std::string> published_adapters(const PodFabric& pod);

}  // namespace muster
