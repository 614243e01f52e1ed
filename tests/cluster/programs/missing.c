/* SPDX-License-Identifier: Apache-2.0
 *
 * missing RANK FILE: all ranks but RANK enter MPI_Allreduce; RANK waits for the
 * file first, in a function of its own, and then comes too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void load_batch(const char* path) {
  while (access(path, F_OK) != 0) sleep(1);
  __asm__ volatile("");
}

int main(int argc, char** argv) {
  int rank = 0, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("all are up");
  fflush(stdout);
  if (rank == atoi(argv[1])) load_batch(argv[2]);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
