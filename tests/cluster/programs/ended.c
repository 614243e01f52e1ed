/* SPDX-License-Identifier: Apache-2.0
 * PMIx clients that ask to be told when a rank ends: ended LEAVES [CODE]. The
 * rank LEAVES ends with CODE (default 0) after the first fence, and the others
 * say what they heard of it and, by a handler of everything, what they should
 * not have heard. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int heard = 0;
static volatile int unasked = 0;
static int code = -1;
static pmix_rank_t who = PMIX_RANK_UNDEF;

static void finish(pmix_event_notification_cbfunc_fn_t done, void* data) {
  if (done != NULL) {
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
  }
}

static void hear(size_t id, pmix_status_t status, const pmix_proc_t* source,
                 pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                 size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                 void* data) {
  (void)id, (void)status, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
      who = info[i].value.data.proc->rank;
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) {
      code = info[i].value.data.integer;
    }
  }
  ++heard;
  finish(done, data);
}

static void hear_anything(size_t id, pmix_status_t status,
                          const pmix_proc_t* source, pmix_info_t info[],
                          size_t ninfo, pmix_info_t results[], size_t nresults,
                          pmix_event_notification_cbfunc_fn_t done,
                          void* data) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  ++unasked;
  finish(done, data);
}

int main(int argc, char** argv) {
  pmix_proc_t self, all;
  pmix_status_t ends = PMIX_EVENT_PROC_TERMINATED;
  const unsigned leaves = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 9;
  PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Register_event_handler(NULL, 0, NULL, 0, hear_anything, NULL, NULL) <
          0 ||
      PMIx_Register_event_handler(&ends, 1, NULL, 0, hear, NULL, NULL) < 0) {
    return 9;
  }
  if (PMIx_Fence(&all, 1, NULL, 0) != PMIX_SUCCESS) return 9;
  if (self.rank == leaves) {
    PMIx_Finalize(NULL, 0);
    return argc > 2 ? atoi(argv[2]) : 0;
  }
  for (int i = 0; i < 3000 && heard == 0; ++i) usleep(10000);
  usleep(200000); /* for a second time, which would be one too many */
  printf("rank %u heard %d times of rank %u with code %d, unasked %d\n",
         self.rank, heard, who, code, unasked);
  fflush(stdout);
  PMIx_Finalize(NULL, 0);
  return 0;
}
