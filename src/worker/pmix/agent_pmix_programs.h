// SPDX-License-Identifier: Apache-2.0
// The programs of a job as ranks get them, by PMIx and, for Open MPI, by
// variables. A world that names none has one. Loop thread.
#pragma once

#include <string>

#include "pmi/world.h"

namespace muster {

struct ProgramLists {
  std::string sizes;        // "2 1": ranks of each
  std::string first_ranks;  // "0 2"
  int count = 1;
};

ProgramLists program_lists(const World& world);
int first_rank_of_program(const World& world, int app);
// Its argv with blanks between; empty: unknown.
std::string program_command(const World& world, int app);
// The directory in which its ranks on this node run; empty: unknown.
std::string program_directory(const World& world, int app);

}  // namespace muster
