/* SPDX-License-Identifier: Apache-2.0
 * Says "ready", then the name and the time (ns, CLOCK_REALTIME) of each USR1,
 * USR2 and TERM that comes; ends with the last. Uses no MPI. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  puts("ready");
  fflush(stdout);
  for (int number = 0; number != SIGTERM;) {
    struct timespec now;
    sigwait(&set, &number);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%s %lld\n",
           number == SIGUSR1   ? "USR1"
           : number == SIGUSR2 ? "USR2"
                               : "TERM",
           now.tv_sec * 1000000000LL + now.tv_nsec);
    fflush(stdout);
  }
  return 0;
}
