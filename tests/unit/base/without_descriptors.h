// SPDX-License-Identifier: Apache-2.0
// For tests: what a loop costs, in ms of CPU time, in half a second in which
// its process can open nothing more.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include "base/loop.h"

namespace muster {

inline int64_t cpu_ms_without_descriptors(Loop& loop) {
  const auto cpu_ms = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
  };
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 3;  // all above are open already
  ::setrlimit(RLIMIT_NOFILE, &none);
  Timer end(loop);
  end.start(Milliseconds{500}, [&] { loop.stop(); });
  const int64_t start = cpu_ms();
  loop.run();
  const int64_t used = cpu_ms() - start;
  ::setrlimit(RLIMIT_NOFILE, &before);
  return used;
}

}  // namespace muster
