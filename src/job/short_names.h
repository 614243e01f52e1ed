// SPDX-License-Identifier: Apache-2.0
// Hosts as people type them, "pi-worker-0", against those of the job's
// hostfile, "pi-worker-0.pi.default.svc": only the latter are in a cluster's
// DNS. A name with a dot, an address, and a label that two hosts of the job
// have in common are left as they are. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/hostfile.h"

namespace muster {

// "-host a,b -n 2" of a mpirun line is one rank on each: a host without a
// number has one slot. Where that is too little for `ranks` (0: not said), and
// an MPI would refuse, the hosts keep what their pods have.
void give_one_slot_each(std::vector<HostEntry>& hosts, int ranks);

// Gives `hosts` the job's names; returns the bare labels that are none of its.
std::vector<std::string> use_job_names(std::vector<HostEntry>& hosts,
                                       const std::vector<HostEntry>& job);

}  // namespace muster
