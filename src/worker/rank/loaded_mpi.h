// SPDX-License-Identifier: Apache-2.0
// The MPI that a process has loaded, by the files mapped into it, and whether
// that MPI can join the job: Open MPI joins through PMIx, MPICH and its kin
// through PMI. An MPI without such a server silently initialises as a world of
// its own. Pure, except loaded_mpi(). Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/spawn.h"

namespace muster {

// The servers to which the launcher of a rank directs it.
struct MpiServers {
  bool pmix = false;
  bool pmi = false;
};
MpiServers mpi_servers(const Environment& env);

struct LoadedMpi {
  bool open_mpi = false;
  bool mpich = false;    // or one with its ABI: Intel MPI, MVAPICH, Cray MPICH
  bool unknown = false;  // a libmpi by another name
  bool pmix = false;     // a client library of the server's kind
  bool pmi = false;
  // A torch that is built with MPI loads it in every program, also with Gloo.
  bool torch = false;

  [[nodiscard]] bool any() const {
    return (open_mpi || mpich || unknown) && !torch;
  }
  // Adds the meaning of the file with this base name.
  void add(std::string_view name);
};
// Of the process alone; empty if it has ended or is another user's.
LoadedMpi loaded_mpi(pid_t pid);

// "Open MPI" or "MPICH's or Intel MPI's library", if that is loaded, has no
// server and no other MPI is loaded; else "".
std::string mpi_without_server(const LoadedMpi& loaded,
                               const MpiServers& servers);

}  // namespace muster
