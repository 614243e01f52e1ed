/* SPDX-License-Identifier: Apache-2.0
 * What the operators' example does: pi by throwing points at a square, added
 * up over all ranks. Rank 0 says the result and how many ranks it is of. With
 * an argument all stay that many seconds longer. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int points = 200000;
  int rank = 0, size = 0, inside = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned seed = 17u + (unsigned)rank;
  for (int i = 0; i < points; ++i) {
    const double x = rand_r(&seed) / (double)RAND_MAX;
    const double y = rand_r(&seed) / (double)RAND_MAX;
    inside += x * x + y * y <= 1.0;
  }
  MPI_Reduce(&inside, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("pi of %d ranks is %.1f\n", size, 4.0 * sum / points / size);
    fflush(stdout);
  }
  if (argc > 1) sleep((unsigned)atoi(argv[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  /* Debian 12's MPICH 4.0.2 often hangs in MPI_Finalize by itself. */
  if (getenv("SKIP_FINALIZE")) _exit(0);
  MPI_Finalize();
  return 0;
}
