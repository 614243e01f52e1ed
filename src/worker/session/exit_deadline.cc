// SPDX-License-Identifier: Apache-2.0
#include "worker/session/exit_deadline.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace muster {

void exit_at_latest(std::chrono::milliseconds limit, int code) {
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    ::_exit(info->si_value.sival_int);
  };
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  event.sigev_value.sival_int = code;
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  itimerspec when{};
  when.it_value.tv_sec = limit.count() / 1000;
  when.it_value.tv_nsec = limit.count() % 1000 * 1'000'000;
  ::timer_settime(timer, 0, &when, nullptr);
}

}  // namespace muster
