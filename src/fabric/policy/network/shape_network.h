// SPDX-License-Identifier: Apache-2.0
// The network of machines whose maker publishes which one they have, by the
// cloud's name of the machine: asked only where nobody told the adapters. Pure.
#pragma once

#include <optional>

#include "fabric/policy/job_state.h"

namespace muster {

std::optional<FabricTransport> network_of_shape(const PodFabric& pod);

}  // namespace muster
