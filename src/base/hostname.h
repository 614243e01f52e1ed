// SPDX-License-Identifier: Apache-2.0
// This pod's own name from gethostname(2), without DNS. Empty if the kernel
// gives none.
#pragma once

#include <unistd.h>

#include <string>

namespace muster {

inline std::string own_hostname() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace muster
