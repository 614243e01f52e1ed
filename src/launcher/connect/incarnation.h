// SPDX-License-Identifier: Apache-2.0
// Names that tell launches apart.
#pragma once

#include <string>

namespace muster {

// 16 hexadecimal digits, from the kernel's random source.
std::string new_launch_id();

// The same for every launch from one life of this container, another one after
// a restart: host name and start time of pid 1.
std::string launcher_incarnation(const std::string& hostname);

}  // namespace muster
