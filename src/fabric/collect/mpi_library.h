// SPDX-License-Identifier: Apache-2.0
// The job's own MPI, opened at run time, so that one muster serves every MPI:
// the few functions that the test needs, behind one interface. Open MPI's
// handles are pointers to its own objects, those of the MPICH family are
// integers; each family has its table. Refuses: any other MPI. Use it in a rank
// only: it calls MPI_Init at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace muster {

class MpiLibrary {
 public:
  virtual ~MpiLibrary() = default;
  virtual std::string version() = 0;  // first line of its version text
  virtual int rank() = 0;
  virtual int size() = 0;
  // Codes of MPI, 0: well. Bytes and doubles in MPI_COMM_WORLD.
  virtual int send(const void* data, int bytes, int to) = 0;
  virtual int receive(void* data, int bytes, int from) = 0;
  virtual int sum(const double* from, double* to, int count) = 0;
  virtual int barrier() = 0;
  virtual void finalize() = 0;
};

// "openmpi" or "mpich" for the path of an mpirun, links resolved; "" if
// unknown.
std::string mpi_family_of_mpirun(const std::string& path);

// The library of `family` ("": the first one found), initialised. Error codes
// "mpi_missing", "mpi_init".
Result<std::unique_ptr<MpiLibrary>> open_mpi_library(const std::string& family,
                                                     const std::string& mpirun);

}  // namespace muster
