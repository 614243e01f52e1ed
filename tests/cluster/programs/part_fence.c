/* SPDX-License-Identifier: Apache-2.0
 * Of the first three ranks two fence with the third, which never comes. */
#include <pmix.h>
#include <unistd.h>

int main(void) {
  pmix_proc_t self;
  pmix_proc_t who[3];
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 1;
  for (pmix_rank_t rank = 0; rank < 3; ++rank) {
    PMIX_LOAD_PROCID(&who[rank], self.nspace, rank);
  }
  if (self.rank < 2) PMIx_Fence(who, 3, NULL, 0);
  sleep(600);
  return 0;
}
