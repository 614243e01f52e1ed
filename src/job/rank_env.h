// SPDX-License-Identifier: Apache-2.0
// The variables that give one rank its place, in every spelling that scripts
// and frameworks read, and the leftovers of other launchers that a native start
// must remove. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/spawn.h"

namespace muster {

struct RankPosition {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int node = 0;             // index of its node among those that run ranks
  std::string master_addr;  // host of rank 0
  std::string master_port;  // empty: do not set MASTER_PORT
};

// RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK (torchrun's
// names), OMPI_COMM_WORLD_* (Open MPI's), MPI_LOCALRANKID MPI_LOCALNRANKS
// (Hydra's). MASTER_ADDR and MASTER_PORT only if `given`, the rank's
// environment so far, lacks them: a user's choice wins.
Environment rank_environment(const RankPosition& position,
                             const Environment& given);

// A rank's number, or the size of its world, as torchrun and the MPIs call
// them: a pod must not set them.
bool names_a_rank(std::string_view name);

// Whether `name`, inherited, would make a rank believe that another launcher
// runs it. PMIX_MCA_*, OMPI_MCA_* are settings, not leftovers, except the
// runtime's.
bool is_launcher_leftover(std::string_view name);

// Those names of `env` that a native start must unset.
std::vector<std::string> scrub_list(const Environment& env);

}  // namespace muster
