/* SPDX-License-Identifier: Apache-2.0
 * One line per rank: when main began and when MPI_Init was over (ns,
 * CLOCK_REALTIME). The sum proves that the ranks have met. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  long long begun = now(), initialized;
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  initialized = now();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
  printf("stamp %lld %lld\n", begun, initialized);
  fflush(stdout);
  /* Debian 12's MPICH hangs in MPI_Finalize under any launcher. */
  if (getenv("SKIP_FINALIZE") != NULL) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  MPI_Finalize();
  return 0;
}
