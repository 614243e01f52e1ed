/* SPDX-License-Identifier: Apache-2.0
 * A PMIx client without MPI: asks for its namespace, builds one group of all
 * ranks twice, and says the context id of each. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

static int fails(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS) return 0;
  printf("%s: %s\n", what, PMIx_Error_string(status));
  return 1;
}

static void query(const char* nspace) {
  pmix_query_t* query;
  pmix_info_t* found = NULL;
  size_t count = 0;
  PMIX_QUERY_CREATE(query, 1);
  PMIX_ARGV_APPEND(count, query->keys, PMIX_QUERY_NAMESPACES);
  count = 0;
  if (fails("query", PMIx_Query_info(query, 1, &found, &count))) return;
  printf("query %s\n",
         count == 1 && strcmp(found[0].value.data.string, nspace) == 0
             ? "knows us"
             : "does not know us");
}

int main(void) {
  pmix_proc_t self, all;
  if (fails("init", PMIx_Init(&self, NULL, 0))) return 1;
  query(self.nspace);
  PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
  for (int turn = 0; turn < 2; ++turn) {
    pmix_info_t* results = NULL;
    pmix_info_t wants;
    size_t count = 0, id = 0;
    bool yes = true;
    PMIX_INFO_LOAD(&wants, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    if (fails("construct", PMIx_Group_construct("everybody", &all, 1, &wants, 1,
                                                &results, &count))) {
      return 1;
    }
    for (size_t i = 0; i < count; ++i) {
      if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) {
        id = results[i].value.data.size;
      }
    }
    printf("group %d has id %zx\n", turn, id);
    fflush(stdout);
    if (fails("destruct", PMIx_Group_destruct("everybody", NULL, 0))) return 1;
  }
  PMIx_Finalize(NULL, 0);
  return 0;
}
