// SPDX-License-Identifier: Apache-2.0
// The pod's network interfaces with their addresses.
#pragma once

#include <vector>

#include "job/node_facts.h"

namespace muster {

// In the kernel's order; empty where they cannot be listed.
std::vector<NetInterface> network_interfaces();

}  // namespace muster
