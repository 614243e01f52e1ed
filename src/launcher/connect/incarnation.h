// SPDX-License-Identifier: Apache-2.0
// What tells one life of a launcher's container from the next.
#pragma once

#include <string>

namespace muster {

// The same for every launch from one life of this container, another one after
// a restart: host name and start time of pid 1.
std::string launcher_incarnation(const std::string& hostname);

}  // namespace muster
