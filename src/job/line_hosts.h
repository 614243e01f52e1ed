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

// The hosts of all programs, each once, in the order in which they are named,
// with the most slots that one of the programs has there, as in Open MPI. A
// host without a number is one slot; where the line has one program, and that
// is too little, it has what its pod has (give_one_slot_each).
std::vector<HostEntry> hosts_of_line(const MpirunLine& line);

// Where a program among several may go: its own hosts among `hosts`, which may
// have been given other names since, in `app.hosts` as well. Error code
// "usage": `hosts` lacks one.
Result<std::vector<AppHost>> own_places(const MpirunLine& line,
                                        const MpirunApp& app,
                                        const std::vector<HostEntry>& hosts);

}  // namespace muster
