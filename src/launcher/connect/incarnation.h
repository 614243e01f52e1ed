// SPDX-License-Identifier: Apache-2.0
// Tells one life of a launcher's container from the next.
#pragma once

#include <string>

namespace muster {

// Equal for every launch from one life of this container, different after a
// restart: host name, start time of pid 1, and the layer that the container
// writes to. If containers share their processes, pid 1 is the pod's and stays;
// the layer is new in each life, but not every runtime shows one. `root` stands
// before /proc (tests).
std::string launcher_incarnation(const std::string& hostname,
                                 const std::string& root = {});

}  // namespace muster
