/* SPDX-License-Identifier: Apache-2.0
 * With how many ranks each rank shares package, memory, caches, core, as Open
 * MPI's own communicators see it. */
#include <mpi.h>
#include <stdio.h>

static int sharers(int kind) {
  MPI_Comm together;
  int size = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, kind, 0, MPI_INFO_NULL, &together);
  MPI_Comm_size(together, &size);
  MPI_Comm_free(&together);
  return size;
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d node %d numa %d socket %d l3 %d l2 %d l1 %d core %d hw %d\n",
         rank, sharers(OMPI_COMM_TYPE_NODE), sharers(OMPI_COMM_TYPE_NUMA),
         sharers(OMPI_COMM_TYPE_SOCKET), sharers(OMPI_COMM_TYPE_L3CACHE),
         sharers(OMPI_COMM_TYPE_L2CACHE), sharers(OMPI_COMM_TYPE_L1CACHE),
         sharers(OMPI_COMM_TYPE_CORE), sharers(OMPI_COMM_TYPE_HWTHREAD));
  MPI_Finalize();
  return 0;
}
