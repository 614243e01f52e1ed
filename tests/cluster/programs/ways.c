/* SPDX-License-Identifier: Apache-2.0
 * An MPI program that comes to its end in one of these ways:
 *   hello     says its rank
 *   abort N   the last rank calls MPI_Abort(N), the others wait for it
 *   spawn     rank 0 starts one more process, and both end well */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&other);
  if (other != MPI_COMM_NULL) {
    printf("r%d was spawned\n", 100 + rank);
  } else if (argc > 1 && strcmp(argv[1], "spawn") == 0) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                   &other, MPI_ERRCODES_IGNORE);
    printf("r%d spawned\n", rank);
  } else if (argc > 2 && strcmp(argv[1], "abort") == 0) {
    if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    printf("r%d of %d\n", rank, size);
  }
  fflush(stdout);
  if (other != MPI_COMM_NULL) MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
