/* SPDX-License-Identifier: Apache-2.0
 * Says that its rank is up, then talks to the others until it is ended.
 * forever abort|segv|exit R: rank R does that after the first round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d is up\n", rank, size);
  fflush(stdout);
  if (argc > 2 && rank == atoi(argv[2])) {
    usleep(200000);
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 42);
    if (strcmp(argv[1], "exit") == 0) _exit(7);
    if (strcmp(argv[1], "segv") == 0) *(volatile int*)NULL = 1;
  }
  for (;;) {
    int value = rank;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    usleep(50000);
  }
}
