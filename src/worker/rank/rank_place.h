// SPDX-License-Identifier: Apache-2.0
// The place of a rank in its world, from the MPI that started it, and the
// variables that programs beside MPI (torch, NCCL scripts, Horovod) expect.
// Pure.
#pragma once

#include <string>

#include "base/spawn.h"

namespace muster {

struct RankPlace {
  int rank = -1;  // -1: unknown
  int size = -1;
  int local_rank = -1;
  int local_size = -1;
};

// Reads Open MPI's, PMIx', Hydra's, Intel's and MVAPICH's variables.
RankPlace rank_place(const Environment& env);
// RANK, WORLD_SIZE, …, as far as `place` is known. NODE_RANK is not derivable
// from these and comes from the plan.
Environment rank_variables(const RankPlace& place);
// Adds to `env` what is not set there; names starting with MUSTER_ win over it.
void add_missing(Environment& env, const Environment& more);

}  // namespace muster
