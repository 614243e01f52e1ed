/* SPDX-License-Identifier: Apache-2.0
 * One way to misbehave, by rank: native MODE RANK, MODE one of
 *   abort    MPI_Abort with code 7
 *   leave    exit 0 between MPI_Init and MPI_Finalize
 *   absent   exit 0 without MPI_Init
 *   hang     never call MPI_Init
 *   crash    kill -9 itself after MPI_Init
 *   none     all is well */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "none";
  int chosen = argc > 2 ? atoi(argv[2]) : 0;
  const char* told = getenv("RANK");
  int rank = 0, size = 0, sum = 0;
  if (told != NULL && atoi(told) == chosen) {
    if (strcmp(mode, "absent") == 0) return 0;
    if (strcmp(mode, "hang") == 0) sleep(600);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d, sum %d\n", rank, size, sum);
  fflush(stdout);
  if (rank == chosen) {
    if (strcmp(mode, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(mode, "leave") == 0) _exit(0);
    if (strcmp(mode, "crash") == 0) kill(getpid(), SIGKILL);
  }
  /* Without it Debian 12's MPICH hangs in MPI_Finalize under any launcher. */
  if (getenv("SKIP_FINALIZE") != NULL) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  MPI_Finalize();
  return 0;
}
