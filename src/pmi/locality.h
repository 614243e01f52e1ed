// SPDX-License-Identifier: Apache-2.0
// The locality of a bound rank, as the text that PMIx clients compare:
// "SK0:L30:L20:L10:CR0:HT0:NM0" (package, caches, core, hardware thread,
// memory). Open MPI builds the communicators of
// MPI_Comm_split_type(OMPI_COMM_TYPE_…) and its choice of adapter on it.
// Numbers are labels, equal for the same thing: the kernel's number of a
// package, a core's first CPU and so on; hwloc would count from 0. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

// The things that a CPU is part of; -1: unknown, and omitted.
struct CpuPlace {
  int package = -1;
  int numa = -1;
  int core = -1;                 // lowest CPU of it
  int caches[3] = {-1, -1, -1};  // L1 (data), L2, L3: lowest CPU that shares it
};
using CpuPlaces = std::map<int, CpuPlace>;  // by CPU

// "" for a rank that is not bound.
std::string locality_text(const CpuPlaces& places,
                          const std::vector<int>& cpus);

// Of each rank, in order: how many before it have their first CPU in the same
// package; -1 for ranks that are not bound.
std::vector<int> package_ranks(const CpuPlaces& places,
                               const std::vector<std::vector<int>>& cpus);

}  // namespace muster
