// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/loaded_mpi.h"

#include <initializer_list>

#include "catch.h"

using namespace muster;

namespace {

std::string alone(const Environment& env,
                  std::initializer_list<const char*> files) {
  LoadedMpi loaded;
  for (const char* file : files) loaded.add(file);
  return mpi_without_server(loaded, mpi_servers(env));
}

const Environment kHydra = {{"PMI_RANK", "1"}, {"PMI_FD", "7"}};
const Environment kOpenMpi = {{"PMIX_NAMESPACE", "1@1"}};

}  // namespace

TEST_CASE("a rank is alone where another MPI's mpirun started it") {
  CHECK(alone(kHydra, {"libc.so.6", "libmpi.so.40.30.4",
                       "libopen-pal.so.40.30.2"}) == "Open MPI");
  CHECK(alone(kOpenMpi, {"libmpich.so.12.1.8"}) == "MPICH or Intel MPI");
  CHECK(alone(kOpenMpi, {"libmpi.so.12.0.0"}) == "MPICH or Intel MPI");
  CHECK(alone({}, {"libmpich.so.12.1.8"}) == "MPICH or Intel MPI");
}

TEST_CASE("a rank is not called alone where it can join, or might") {
  CHECK(alone(kHydra, {"libmpich.so.12.1.8"}).empty());
  CHECK(alone({{"PMI_PORT", "h:1"}}, {"libmpi.so.12.0.0"}).empty());
  CHECK(alone(kOpenMpi, {"libmpi.so.40", "libopen-pal.so.40"}).empty());
  // Built with PMIx; through Slurm's PMI; both MPIs; torch's; an unknown one.
  CHECK(alone(kOpenMpi, {"libmpi.so.12", "libpmix.so.2"}).empty());
  CHECK(alone(kHydra, {"libmpi.so.40", "libopen-pal.so.40", "libpmi2.so.0"})
            .empty());
  CHECK(alone(kHydra, {"libmpi.so.40", "libopen-pal.so.40", "libmpich.so.12"})
            .empty());
  CHECK(alone(kHydra, {"libtorch_cpu.so", "libmpi.so.40", "libopen-pal.so.40"})
            .empty());
  CHECK(alone(kHydra, {"libmpi_usempif08.so.1"}).empty());
  CHECK(alone(kHydra, {"libc.so.6"}).empty());
}
