/* SPDX-License-Identifier: Apache-2.0
 * Says "ready", then the name and the time (ns, CLOCK_REALTIME) of each signal
 * that comes and can be waited for; ends with TERM. Uses no MPI. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, NULL);
  puts("ready");
  fflush(stdout);
  for (int number = 0; number != SIGTERM;) {
    struct timespec now;
    sigwait(&set, &number);
    clock_gettime(CLOCK_REALTIME, &now);
    const char* const name = sigabbrev_np(number);
    if (name != NULL) {
      printf("%s ", name);
    } else {
      printf("RTMIN+%d ", number - SIGRTMIN);
    }
    printf("%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    fflush(stdout);
  }
  return 0;
}
