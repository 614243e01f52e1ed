// SPDX-License-Identifier: Apache-2.0
// Returns the published network of a machine by the cloud's name for it. The
// caller asks only if the facts lack the adapters. Pure.
#pragma once

#include <optional>

#include "fabric/policy/job_state.h"

namespace muster {

std::optional<FabricTransport> network_of_shape(const PodFabric& pod);

}  // namespace muster
