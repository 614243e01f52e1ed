/* SPDX-License-Identifier: Apache-2.0
 * What MPI_INFO_ENV and the attributes of the world say of its programs. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0;
  int keys = 0;
  int found = 0;
  int* number = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  printf("rank %d appnum=%d\n", rank, found ? *number : -1);
  MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info_get_nthkey(MPI_INFO_ENV, i, key);
    MPI_Info_get(MPI_INFO_ENV, key, MPI_MAX_INFO_VAL, value, &found);
    if (found) printf("rank %d %s=%s\n", rank, key, value);
  }
  MPI_Finalize();
  return 0;
}
