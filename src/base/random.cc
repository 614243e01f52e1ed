// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace muster {

std::uint64_t random_bits() {
  std::uint64_t value = 0;
  // So few bytes come whole; only a signal ends the call before.
  while (::getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno == EINTR) continue;
    std::perror(
        "muster: the kernel gives no random numbers; allow getrandom(2) in the "
        "pod's seccomp profile");
    std::abort();
  }
  return value;
}

std::string random_id() {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(random_bits()));
  return text;
}

}  // namespace muster
