/* SPDX-License-Identifier: Apache-2.0
 * When MPI_Init was over (ns, CLOCK_REALTIME), one line per rank. The barrier
 * proves that the ranks have met. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  struct timespec over;
  MPI_Init(&argc, &argv);
  clock_gettime(CLOCK_REALTIME, &over);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("past MPI_Init %lld\n", over.tv_sec * 1000000000LL + over.tv_nsec);
  MPI_Finalize();
  return 0;
}
