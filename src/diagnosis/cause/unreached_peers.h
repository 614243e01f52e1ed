// SPDX-License-Identifier: Apache-2.0
// "No route to host", "failed to TCP connect to a peer": a wrong network,
// unless the peer had gone. No network leads to a worker that was lost; we hear
// of the loss late, and as late as can be where we were silent ourselves. Nor
// can a rank connect to one that has just ended: Open MPI then reports whatever
// errno happened to hold ("Operation now in progress"), and MPICH that a call
// failed. For launches only, which have wait statuses. Pure.
#pragma once

#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// Takes out who could not reach a peer that was lost, or that left early, or
// whose end was the first bad one, on another host than the writer's; and whose
// MPI failed as one left early.
void drop_unreached_peers(const Evidence& evidence,
                          std::vector<Candidate>& candidates);

}  // namespace muster
