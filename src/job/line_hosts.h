// SPDX-License-Identifier: Apache-2.0
// The hosts that an mpirun line names with -H, one list for all or one for each
// of several programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "job/hostfile.h"
#include "job/mpirun_line.h"
#include "job/plan.h"

namespace muster {

// The hosts of all programs, each once, in the order of the line, with the most
// slots that one of the programs has there, as in Open MPI. A host without a
// number is one slot; if the line has one program, and that is too little, it
// has its pod's slots (give_one_slot_each).
std::vector<HostEntry> hosts_of_line(const MpirunLine& line);

// The hosts of one program among several: its own among `hosts`, which may have
// new names since, in `app.hosts` as well. Error code "usage": `hosts` lacks
// one.
Result<std::vector<AppHost>> own_places(const MpirunLine& line,
                                        const MpirunApp& app,
                                        const std::vector<HostEntry>& hosts);

}  // namespace muster
