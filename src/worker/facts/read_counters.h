// SPDX-License-Identifier: Apache-2.0
// Reads what the pod has used: cgroup v1 and v2 CPU time and throttling, v2
// pressure (PSI) of CPU, memory and storage, bytes of the network interfaces
// but loopback, bytes and errors of the RDMA ports (EFA's and others'). A
// counter that is absent stays -1. `root` is put before every absolute path.
// Never fails.
#pragma once

#include <string>

#include "wire/pod_counters.h"
#include "worker/facts/facts_cgroup.h"

namespace muster {

wire::PodCounters read_pod_counters(const std::string& root,
                                    const CgroupPlace& place);

}  // namespace muster
