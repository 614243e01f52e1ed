// SPDX-License-Identifier: Apache-2.0
// Writes its environment as it is, each entry with its zero byte, to the file
// rank-N of the directory that is its argument. No MPI: what a rank finds
// before any library has changed it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char** environ;

int main(int argc, char** argv) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  if (argc < 2 || rank == NULL) {
    fprintf(stderr, "environ DIRECTORY, as a rank\n");
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%s", argv[1], rank);
  FILE* out = fopen(path, "w");
  if (out == NULL) {
    perror(path);
    return 1;
  }
  for (char** entry = environ; *entry != NULL; ++entry) {
    fwrite(*entry, 1, strlen(*entry) + 1, out);
  }
  return fclose(out) == 0 ? 0 : 1;
}
