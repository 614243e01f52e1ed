// SPDX-License-Identifier: Apache-2.0
// Package, NUMA node, core and caches of some CPUs, from the kernel's files.
// What the kernel does not say stays unknown. `root` is put before every
// absolute path. Ten small files for each CPU: ask for those that matter.
#pragma once

#include <string>
#include <vector>

#include "pmi/locality.h"

namespace muster {

CpuPlaces read_cpu_places(const std::string& root,
                          const std::vector<int>& cpus);

}  // namespace muster
