// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include <cstdio>

namespace muster {

std::uint64_t random_bits() {
  std::uint64_t value = 0;
  // So few bytes come whole; only a signal ends the call without them.
  while (::getrandom(&value, sizeof value, 0) != sizeof value) {
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
