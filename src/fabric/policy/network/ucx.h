// SPDX-License-Identifier: Apache-2.0
// UCX in a pod, as far as known. Pure.
#pragma once

#include "fabric/facts/facts.h"

namespace muster {

// The user's UCX_TLS leaves it TCP and no adapter.
bool ucx_on_tcp(const PodFabric& pod);
// The facts mention UCX, so the pod has it.
bool has_ucx(const PodFabric& pod);

// Open MPI's switch for HCOLL, the collectives of HPC-X and Mellanox OFED.
inline constexpr const char* kHcollSwitch = "OMPI_MCA_coll_hcoll_enable";
// That switch, or a version of those builds of Open MPI only ("4.1.7a1",
// "4.1.5rc2"), shows that the pod has HCOLL.
bool shows_hcoll(const PodFabric& pod);

}  // namespace muster
