// SPDX-License-Identifier: Apache-2.0
// This pod's own name, as gethostname(2) has it: no DNS is asked. Empty where
// the kernel gives none.
#pragma once

#include <unistd.h>

#include <string>

namespace muster {

inline std::string own_hostname() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace muster
