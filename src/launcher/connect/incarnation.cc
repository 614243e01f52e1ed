// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/incarnation.h"

#include <sys/random.h>

#include <cstdint>
#include <cstdio>

#include "base/process_table.h"

namespace muster {

std::string new_launch_id() {
  uint64_t value = 0;
  while (::getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string launcher_incarnation(const std::string& hostname) {
  return hostname + "@" + std::to_string(start_time(1));
}

}  // namespace muster
