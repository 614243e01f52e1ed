// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/loaded_mpi.h"

#include "base/process_table.h"

namespace muster {

MpiServers mpi_servers(const Environment& env) {
  MpiServers out;
  out.pmix = find_env(env, "PMIX_NAMESPACE") != nullptr;
  for (const char* name : {"PMI_FD", "PMI_PORT", "PMI_RANK"}) {
    out.pmi = out.pmi || find_env(env, name) != nullptr;
  }
  return out;
}

void LoadedMpi::add(std::string_view name) {
  // The MPICH ABI initiative gave libmpi.so.12 to MPICH and all of its kin;
  // Debian's MPICH keeps libmpich.so.12. Open MPI 1.10 was the last with
  // another number than 20 and 40, and also has 12: its libopen-pal shows it.
  if (name.starts_with("libopen-pal.")) open_mpi = true;
  if (name.starts_with("libmpich.") || name.starts_with("libmpi.so.12")) {
    mpich = true;
  } else if (name.starts_with("libmpi")) {
    unknown = true;
  }
  if (name.starts_with("libpmix.")) pmix = true;
  if (name.starts_with("libpmi.") || name.starts_with("libpmi2.")) pmi = true;
  if (name.starts_with("libtorch")) torch = true;
}

LoadedMpi loaded_mpi(pid_t pid) {
  LoadedMpi out;
  for_each_mapped(pid, [&out](std::string_view name) { out.add(name); });
  return out;
}

std::string mpi_without_server(const LoadedMpi& loaded,
                               const MpiServers& servers) {
  if (!loaded.any()) return {};
  if (loaded.open_mpi) {
    // 4.x also speaks PMI, through Slurm's libraries of it.
    const bool served = servers.pmix || (servers.pmi && loaded.pmi);
    return served || loaded.mpich ? "" : "Open MPI";
  }
  if (loaded.mpich) {
    const bool served = servers.pmi || (servers.pmix && loaded.pmix);
    return served ? "" : "MPICH or Intel MPI";
  }
  return {};
}

}  // namespace muster
