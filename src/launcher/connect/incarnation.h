// SPDX-License-Identifier: Apache-2.0
// Tells one life of a launcher's container from the next.
#pragma once

#include <string>

namespace muster {

// The same for every launch from one life of this container, another one after
// a restart: host name, start time of pid 1, and the layer that the container
// writes to. Where containers share their processes pid 1 is the pod's and
// stays; the layer is made for each life, but not every runtime shows one.
// `root` stands before /proc (tests).
std::string launcher_incarnation(const std::string& hostname,
                                 const std::string& root = {});

}  // namespace muster
