// SPDX-License-Identifier: Apache-2.0
// Hosts as people type them, "pi-worker-0", against those of the job's
// hostfile, "pi-worker-0.pi.default.svc": only the latter are in a cluster's
// DNS. A name with a dot, an address, and a label that two hosts of the job
// have in common are left as they are. A name that is none of the job's is
// told, with the one that may be meant; one with a dot only where it is like
// those of the job, since it may well be somewhere else. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/hostfile.h"

namespace muster {

// "-host a,b -n 2" of a mpirun line is one rank on each: a host without a
// number has one slot. Where that is too little for `ranks` (0: not said), and
// an MPI would refuse, the hosts keep what their pods have.
void give_one_slot_each(std::vector<HostEntry>& hosts, int ranks);

struct Stranger {
  std::string name;
  std::string meant;  // the job's host that is a typo away; empty: none
};

// Gives `hosts` the job's names; returns those that are none of its.
std::vector<Stranger> use_job_names(std::vector<HostEntry>& hosts,
                                    const std::vector<HostEntry>& job);

}  // namespace muster
