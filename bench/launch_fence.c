/* SPDX-License-Identifier: Apache-2.0
 * A PMIx client without MPI: puts 500 bytes and fences with everybody's data,
 * ten times or as often as its second argument says (libpmix collects all that
 * was ever put, so 500 bytes a rank each time). Between them it rests for as
 * many milliseconds as its third says: without a rest ranks that are let go
 * early are in the next fence while others still wait for this one. One line
 * per rank and fence: when it began to wait and when it was let go (ns,
 * CLOCK_REALTIME). The data of a neighbour proves that they have collected. */
#define _GNU_SOURCE
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 500

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  pmix_proc_t self, all, next;
  const unsigned size = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 10;
  const int rest = argc > 3 ? atoi(argv[3]) : 0;
  char text[BYTES + 1];
  bool yes = true;
  pmix_info_t collect;
  pmix_value_t value, *found = NULL;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 1;
  PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID(&next, self.nspace, (self.rank + 1) % size);
  srand(self.rank + 1); /* nothing that compression makes small */
  for (int i = 0; i < BYTES; ++i) text[i] = (char)('!' + rand() % 90);
  text[0] = (char)('a' + self.rank % 26);
  text[BYTES] = '\0';
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  if (PMIx_Put(PMIX_GLOBAL, "card", &value) != PMIX_SUCCESS) return 2;
  if (PMIx_Commit() != PMIX_SUCCESS) return 3;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  for (int round = 0; round < rounds; ++round) {
    if (rest > 0) usleep((useconds_t)rest * 1000);
    const long long begun = now();
    if (PMIx_Fence(&all, 1, &collect, 1) != PMIX_SUCCESS) return 4;
    printf("fence %d %lld %lld\n", round, begun, now());
  }
  if (PMIx_Get(&next, "card", NULL, 0, &found) != PMIX_SUCCESS) return 5;
  if (found->data.string[0] != (char)('a' + next.rank % 26)) return 6;
  fflush(stdout);
  PMIx_Finalize(NULL, 0);
  return 0;
}
