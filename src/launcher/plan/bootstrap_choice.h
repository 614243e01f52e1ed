// SPDX-License-Identifier: Apache-2.0
// Chooses who starts the ranks, muster's agents or the image's own mpirun, and
// says why in a sentence (docs/conformance.md has the table behind it).
// Pure.
#pragma once

#include <string>

#include "job/mpirun_line.h"
#include "job/node_facts.h"
#include "job/plan.h"

namespace muster {

struct BootstrapInput {
  Bootstrap asked = Bootstrap::kAuto;
  const MpirunLine* line = nullptr;  // null: a program by itself
  std::string mpirun;                // path in the launcher's image, or empty
  MpiFacts mpi;                      // of the launcher's image
  bool has_pmix = false;             // the agents can serve PMIx
  bool uses_sessions = false;        // the program names MPI_Session_init
  bool spawns = false;               // … or MPI_Comm_spawn
};

struct BootstrapChoice {
  Bootstrap bootstrap = Bootstrap::kPmix;
  std::string reason;
};

BootstrapChoice choose_bootstrap(const BootstrapInput& input);

// Open MPI 5 makes the communicators of sessions from PMIx groups, and its
// libpmix 5 wants more in their answers than our libpmix 4 sends.
bool needs_mpirun_for_sessions(const MpiFacts& mpi);

// Is this MPI one of those whose test suites passed under a native start?
bool is_proven_native(const MpiFacts& mpi, bool has_pmix);

}  // namespace muster
