// SPDX-License-Identifier: Apache-2.0
// The distance of two PCI devices, in NCCL's words: PIX (one switch), PXB
// (several), PHB (through the host bridge), SYS (through the link between
// sockets). Pure; paths are those of /sys/devices.
#pragma once

#include <string>
#include <string_view>

#include "fabric/facts/facts.h"

namespace muster {

// "" if a path is unknown. `same_numa`: both NUMA nodes known and equal, or
// either unknown.
std::string pci_distance(std::string_view path_a, std::string_view path_b,
                         bool same_numa);
// From measured facts, else from the paths; "" if neither is known.
std::string gpu_distance(const FabricGpu& gpu, const FabricHca& hca);
// LOC 0, NVL 1, NVB 2, C2C 3, PIX 4, PXB 5, P2C 6, PXN 7, PHB 8, SYS 9;
// unknown: -1.
int path_rank(std::string_view path);
// NCCL's old numbers for levels (ncclGetLevel): "3" is PHB.
std::string level_name(std::string_view value);
// Near enough for GPUDirect by NCCL's default: PXB or closer.
bool is_near(std::string_view path);

}  // namespace muster
