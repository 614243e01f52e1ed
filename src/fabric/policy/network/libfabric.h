// SPDX-License-Identifier: Apache-2.0
// Networks that MPI and NCCL's plugin reach through libfabric, and whether the
// image's libfabric has the provider for them. Pure.
#pragma once

#include <string>

#include "fabric/policy/job_state.h"

namespace muster {

// Whether libfabric has a provider for this port's network: efa, cxi, for
// Omni-Path opx or psm2, verbs for iWARP, which NCCL does not take. Unknown if
// it was not asked, and for other networks.
Known has_provider(const PodFabric& pod, const PortView& view);
// "libfabric 1.17 has no provider for EFA (efa), only tcp, shm"
std::string without_provider(const PodFabric& pod, const PortView& view);
// Whether libfabric has a provider that a value of FI_PROVIDER names; unknown
// if it was not asked, and for a list of exclusions.
Known has_named_provider(const PodFabric& pod, const std::string& value);
// The names of all, for people.
std::string provider_names(const PodFabric& pod);
// For the ports that the job uses: false if some pods have the provider and
// some do not, true if none has it, else unknown.
Known providers_agree(const FabricJob& job);
// The provider by which MPI reaches its peers in a job whose NCCL is on TCP; ""
// if there is none, not in every pod, or libfabric was not asked.
std::string provider_for_mpi(const FabricJob& job);

}  // namespace muster
