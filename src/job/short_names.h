// SPDX-License-Identifier: Apache-2.0
// Matches hosts as people type them, "pi-worker-0", with those of the job's
// hostfile, "pi-worker-0.pi.default.svc": a cluster's DNS has only the latter.
// Leaves a name with a dot, an address, and a label that two hosts of the job
// share as they are. Reports a name that is not one of the job's, with the
// likely one; a name with a dot only if it looks like those of the job, since
// it may well be elsewhere. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/hostfile.h"

namespace muster {

// "-host a,b -n 2" of a mpirun line is one rank on each: a host without a
// number has one slot. If that is too little for `ranks` (0: not given), and an
// MPI would refuse, the hosts keep their pods' slots.
void give_one_slot_each(std::vector<HostEntry>& hosts, int ranks);

struct Stranger {
  std::string name;
  std::string meant;  // the job's host that is a typo away; empty: none
};

// Gives `hosts` the job's names; returns those that are not the job's.
std::vector<Stranger> use_job_names(std::vector<HostEntry>& hosts,
                                    const std::vector<HostEntry>& job);

}  // namespace muster
