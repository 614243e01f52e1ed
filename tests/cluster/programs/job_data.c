/* SPDX-License-Identifier: Apache-2.0
 * What a PMIx client can learn of itself and its job without asking others. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>

static pmix_proc_t self;

static void show(const char* key, pmix_rank_t rank) {
  pmix_proc_t whose;
  pmix_value_t* value = NULL;
  pmix_info_t optional;
  bool yes = true;
  PMIX_LOAD_PROCID(&whose, self.nspace, rank);
  PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  printf("rank %u %s%s ", self.rank, rank == PMIX_RANK_WILDCARD ? "job " : "",
         key);
  if (PMIx_Get(&whose, key, &optional, 1, &value) != PMIX_SUCCESS) {
    puts("-");
  } else if (value->type == PMIX_STRING) {
    puts(value->data.string == NULL ? "-" : value->data.string);
  } else if (value->type == PMIX_UINT16) {
    printf("%u\n", value->data.uint16);
  } else if (value->type == PMIX_UINT32) {
    printf("%u\n", value->data.uint32);
  } else {
    printf("of type %u\n", value->type);
  }
}

int main(void) {
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 1;
  show(PMIX_CPUSET, self.rank);
  show(PMIX_LOCALITY_STRING, self.rank);
  show(PMIX_PACKAGE_RANK, self.rank);
  show(PMIX_REINCARNATION, self.rank);
  show(PMIX_APP_ARGV, self.rank);
  show(PMIX_WDIR, self.rank);
  show(PMIX_APP_ARGV, PMIX_RANK_WILDCARD);
  show(PMIX_WDIR, PMIX_RANK_WILDCARD);
  PMIx_Finalize(NULL, 0);
  return 0;
}
