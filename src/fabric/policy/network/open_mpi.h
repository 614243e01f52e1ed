// SPDX-License-Identifier: Apache-2.0
// The ways that a user's settings leave Open MPI to send its messages. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/policy/job_state.h"

namespace muster {

// TCP alone, with any adapters: pml ob1, by its name or because the others are
// excluded, over a list of BTLs with tcp and none for adapters.
bool open_mpi_on_tcp(const FabricJob& job, const PodFabric& pod);
// Bridges whose addresses it offers to its peers, with the user's
// btl_tcp_if_exclude, which it compares with whole names and with networks.
std::vector<std::string> bridges_left_in(const PodFabric& pod,
                                         const std::string& excluded);

}  // namespace muster
