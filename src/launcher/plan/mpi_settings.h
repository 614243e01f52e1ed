// SPDX-License-Identifier: Apache-2.0
// The settings by which an mpirun reaches hosts through muster's relay, uses
// muster's hostfile, and puts the rank wrapper before each program. One family
// at a time; every spelling that a version of it reads. Sources: ORTE and PRRTE
// parameter names from `ompi_info --all --level 9` and `prte_info --all`;
// Hydra's and Intel MPI's variables from their manuals, and
// HYDRA_LAUNCHER_AUTOFORK from MPICH's tools/bootstrap/external. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"
#include "job/mpirun_options.h"

namespace muster {

struct MpiSettingsInput {
  std::string family;     // NodeFacts::mpi.family of the launcher's pod
  std::string agent;      // absolute path of muster-agent, the same in all pods
  std::string hostfile;   // ours
  std::string interface;  // towards the workers; empty: unknown
  int hosts = 1;
  bool is_root = false;
  bool called_mpirun = false;  // by its own name: it decides about root itself
  // A worker has an address of the launcher's pod (hostNetwork): an MPI that
  // resolves its name would start that worker's ranks here.
  bool shares_address = false;
  bool oversubscribe = false;
  bool mpi_binds = true;      // false: it is told to leave ranks unbound
  bool passes_named = false;  // the line has a -genvlist, -genvall, …
};

struct MpiSettings {
  LauncherSet launcher = 0;          // one bit; 0: an unknown family
  Environment env;                   // of mpirun
  std::vector<std::string> unset;    // of mpirun's environment
  std::vector<std::string> options;  // into its line, before the user's
  std::vector<std::string> wrapper;  // before each program in its line
  Environment daemon_env;            // of orted, prted, the Hydra proxy
};

MpiSettings mpi_settings(const MpiSettingsInput& input);

}  // namespace muster
