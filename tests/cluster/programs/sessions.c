/* SPDX-License-Identifier: Apache-2.0
 * An MPI 4 program without MPI_Init: the sets of processes that a session
 * knows, and a sum over the one that holds everybody. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm everybody;
  int sets = 0, rank, size, sum = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  for (int i = 0; i < sets; ++i) {
    char name[256];
    int length = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    printf("set %s\n", name);
  }
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "muster", MPI_INFO_NULL,
                             MPI_ERRORS_ARE_FATAL, &everybody);
  MPI_Comm_rank(everybody, &rank);
  MPI_Comm_size(everybody, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, everybody);
  printf("rank %d of %d, sum %d\n", rank, size, sum);
  fflush(stdout);
  MPI_Group_free(&group);
  MPI_Comm_free(&everybody);
  MPI_Session_finalize(&session);
  return 0;
}
