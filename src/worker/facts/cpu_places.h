// SPDX-License-Identifier: Apache-2.0
// Package, NUMA node, core and caches of some CPUs, from the kernel's files.
// Values that the kernel does not give stay unknown. `root` is put before every
// absolute path. Reads ten small files for each CPU: ask only for those that
// matter.
#pragma once

#include <string>
#include <vector>

#include "pmi/locality.h"

namespace muster {

CpuPlaces read_cpu_places(const std::string& root,
                          const std::vector<int>& cpus);

}  // namespace muster
