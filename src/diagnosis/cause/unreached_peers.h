// SPDX-License-Identifier: Apache-2.0
// "No route to host", "failed to TCP connect to a peer": a wrong network,
// unless the peer had ended. No network leads to a lost worker; the loss is
// reported late, and as late as possible if we were silent ourselves. Nor can a
// rank connect to one that has just ended: Open MPI then reports any errno
// ("Operation now in progress"), and MPICH a failed call. For launches only,
// which have wait statuses. Pure.
#pragma once

#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// Removes ranks that could not reach a peer that was lost, or left early, or
// whose end was the first bad one, on another host than the writer's; and ranks
// whose MPI failed as one left early.
void drop_unreached_peers(const Evidence& evidence,
                          std::vector<Candidate>& candidates);

}  // namespace muster
