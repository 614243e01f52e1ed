// SPDX-License-Identifier: Apache-2.0
// Networks that MPI and NCCL's plugin reach through libfabric, and whether the
// image's libfabric has the provider for them. Pure.
#pragma once

#include <string>

#include "fabric/policy/job_state.h"

namespace muster {

// Whether libfabric has a provider for this port's network: efa, cxi, for
// Omni-Path opx or psm2, verbs for iWARP, which NCCL does not take. Unknown
// where nobody asked, and for other networks.
Known has_provider(const PodFabric& pod, const PortView& view);
// "libfabric 1.17 has no provider for EFA (efa), only tcp, shm"
std::string without_provider(const PodFabric& pod, const PortView& view);
// Whether libfabric has what a value of FI_PROVIDER names, or one of it;
// unknown where nobody asked, and for a list of what to leave out.
Known has_named_provider(const PodFabric& pod, const std::string& value);
// The names of all, for people.
std::string provider_names(const PodFabric& pod);
// Of the ports that the job uses: false where some pods have the provider and
// some do not, true where none has it, else unknown.
Known providers_agree(const FabricJob& job);
// The provider by which MPI reaches its peers in a job of which NCCL is on TCP;
// "" where there is none, not in every pod, or nobody asked.
std::string provider_for_mpi(const FabricJob& job);

}  // namespace muster
