// SPDX-License-Identifier: Apache-2.0
// The cores that the pod may use, from the kernel's files: what hwloc reads on
// Linux, without a library to load in a process that starts once per rank.
// `root` is put before every absolute path.
#pragma once

#include <string>
#include <vector>

#include "job/node_facts.h"

namespace muster {

// Ascending; empty if the kernel does not say.
std::vector<int> allowed_cpus();
// The CPUs that the kernel gives a process of ours that binds itself to each
// of `wanted`; empty: it refuses. Tries it on a thread of its own.
std::vector<std::vector<int>> bindable_cpus(
    const std::vector<std::vector<int>>& wanted);
// `allowed` by core. A CPU without topology files is a core of its own;
// memory without NUMA is node 0.
std::vector<CpuCore> read_cores(const std::string& root,
                                const std::vector<int>& allowed);

}  // namespace muster
