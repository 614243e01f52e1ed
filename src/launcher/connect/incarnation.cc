// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/incarnation.h"

#include "base/process_table.h"

namespace muster {

std::string launcher_incarnation(const std::string& hostname) {
  return hostname + "@" + std::to_string(start_time(1));
}

}  // namespace muster
