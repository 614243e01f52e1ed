/* SPDX-License-Identifier: Apache-2.0
 * MPI beyond a fixed world, by the first argument:
 *   spawn    rank 0 asks for one more process, which a native start refuses
 *   names    rank 0 publishes a name, the last rank looks it up and says it */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "a port with spaces";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "spawn") == 0) {
    MPI_Comm other;
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                   &other, MPI_ERRCODES_IGNORE);
    printf("spawned\n");
  } else {
    if (rank == 0) MPI_Publish_name("muster-test", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
      char found[MPI_MAX_PORT_NAME] = "";
      MPI_Lookup_name("muster-test", MPI_INFO_NULL, found);
      printf("rank %d found: %s\n", rank, found);
      fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Unpublish_name("muster-test", MPI_INFO_NULL, port);
  }
  MPI_Finalize();
  return 0;
}
