/* SPDX-License-Identifier: Apache-2.0
 * A PMIx client without MPI: the last rank tells all others something, and
 * each says what it heard and from whom. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE (PMIX_EXTERNAL_ERR_BASE - 7)

static volatile int heard = 0;
static char text[64] = "nothing";
static pmix_rank_t teller = PMIX_RANK_UNDEF;

static int fails(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return 0;
  printf("%s: %s\n", what, PMIx_Error_string(status));
  return 1;
}

static void hear(size_t id, pmix_status_t status, const pmix_proc_t* source,
                 pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                 size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                 void* data) {
  (void)id, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, "test.word") == 0) {
      snprintf(text, sizeof text, "%s", info[i].value.data.string);
    }
  }
  teller = source->rank;
  heard += status == CODE;
  if (done != NULL) {
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
  }
}

int main(int argc, char** argv) {
  pmix_proc_t self, all;
  pmix_status_t code = CODE;
  pmix_info_t info;
  const unsigned size = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  if (fails("init", PMIx_Init(&self, NULL, 0))) return 1;
  PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
  if (self.rank + 1 != size &&
      PMIx_Register_event_handler(&code, 1, NULL, 0, hear, NULL, NULL) < 0) {
    return 1;
  }
  if (fails("fence", PMIx_Fence(&all, 1, NULL, 0))) return 1;
  if (self.rank + 1 == size) {
    PMIX_INFO_LOAD(&info, "test.word", "pineapple", PMIX_STRING);
    if (fails("notify", PMIx_Notify_event(CODE, &self, PMIX_RANGE_NAMESPACE,
                                          &info, 1, NULL, NULL))) {
      return 1;
    }
  } else {
    for (int i = 0; i < 3000 && heard == 0; ++i) usleep(10000);
    printf("rank %u heard %d times \"%s\" from %u\n", self.rank, heard, text,
           teller);
  }
  if (fails("fence", PMIx_Fence(&all, 1, NULL, 0))) return 1;
  PMIx_Finalize(NULL, 0);
  return 0;
}
