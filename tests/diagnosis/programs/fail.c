// SPDX-License-Identifier: Apache-2.0
// Fails in one chosen way on one rank, while the others wait for it:
// fail MODE RANK. Built with mpicc, or with -DNO_MPI for plain processes.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef NO_MPI
#include <mpi.h>
#endif

static void fail(const char* mode) {
  volatile int zero = 0;
  if (!strcmp(mode, "segfault")) *(volatile int*)8 = 1;
  if (!strcmp(mode, "abort")) {
    fprintf(stderr, "fail: solver.c:42: Assertion `residual < 1' failed.\n");
    abort();
  }
  if (!strcmp(mode, "fpe")) zero = 7 / zero;
  if (!strcmp(mode, "ill")) __builtin_trap();
  if (!strcmp(mode, "exit")) exit(3);
  if (!strcmp(mode, "kill")) raise(SIGKILL);
  if (!strcmp(mode, "term")) raise(SIGTERM);
  if (!strcmp(mode, "bus")) {  // a mapped file that became shorter
    int fd = open("/dev/shm/fail_bus", O_RDWR | O_CREAT, 0600);
    unlink("/dev/shm/fail_bus");
    char* map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    map[0] = 1;
  }
  if (!strcmp(mode, "oom")) {
    for (;;) memset(malloc(1 << 20), 1, 1 << 20);
  }
  if (!strcmp(mode, "shm")) {
    static char block[1 << 20];
    int fd = open("/dev/shm/fail_full", O_RDWR | O_CREAT, 0600);
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block) {
    }
    perror("write to /dev/shm/fail_full");
    exit(1);
  }
#ifndef NO_MPI
  if (!strcmp(mode, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 7);
  if (!strcmp(mode, "leave")) _exit(0);
  if (!strcmp(mode, "truncate")) {
    int big[64] = {0}, small[1];
    MPI_Request request;
    MPI_Isend(big, 64, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Recv(small, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(mode, "bad_rank")) {
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
  }
#endif
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "ok";
  int rank = 0;
#ifdef NO_MPI
  rank = atoi(getenv("FAIL_RANK") ? getenv("FAIL_RANK") : "0");
#else
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  printf("rank %d reads its share\n", rank);
  fflush(stdout);
  if (rank == (argc > 2 ? atoi(argv[2]) : 1)) fail(mode);
#ifdef NO_MPI
  sleep(strcmp(mode, "ok") ? 2 : 0);
#else
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return 0;
}
