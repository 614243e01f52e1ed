/* SPDX-License-Identifier: Apache-2.0
 * Says where each rank is and proves that all of them talk: the sum of all
 * ranks, by MPI_Allreduce. With an argument R: rank R then segfaults. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  char host[256] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  gethostname(host, sizeof host - 1);
  printf("rank %d of %d on %s, sum of ranks %d\n", rank, size, host, sum);
  fflush(stdout);
  if (argc > 1 && rank == atoi(argv[1])) {
    volatile int* nowhere = NULL;
    *nowhere = 1;
  }
  if (argc > 1) pause(); /* no other rank is to fail for want of it */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
