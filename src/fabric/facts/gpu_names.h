// SPDX-License-Identifier: Apache-2.0
// The meaning of GPUs' names, as drivers and people write them: "NVIDIA GeForce
// RTX 4090" and "RTX4090", "NVIDIA H100 80GB HBM3" and "H100-SXM5". Pure.
#pragma once

#include "fabric/facts/facts.h"

namespace muster {

// AMD's, hence RCCL in place of NCCL; or the pod has RCCL by name.
bool has_amd_gpus(const PodFabric& pod);
// Intel's Max and Gaudi, which have neither NCCL nor RCCL.
bool has_intel_gpus(const PodFabric& pod);
// GeForce 40, whose drivers before 550.40.07 offered a P2P that does not work.
bool has_rtx40(const PodFabric& pod);
// GB200 and GB300, with NVLink beyond the machine.
bool has_rack_nvlink(const PodFabric& pod);
// Modules on a board with NVLink (SXM, Grace), not cards.
bool has_nvlink_board(const PodFabric& pod);
// AMD's MI200 and MI300, joined by XGMI, which RCCL treats as NVLink.
bool has_xgmi(const PodFabric& pod);
// Compute capability 10.0 and 10.3: B200, GB300.
bool is_blackwell(const FabricGpu& gpu);
// Compute capability 12.0.
bool is_rtx50(const FabricGpu& gpu);
// Grace shares its page tables with the GPU.
bool is_grace(const FabricGpu& gpu);

}  // namespace muster
