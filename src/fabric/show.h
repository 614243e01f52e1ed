// SPDX-License-Identifier: Apache-2.0
// A pod's facts for people. Pure.
#pragma once

#include <string>

#include "fabric/facts/facts.h"

namespace muster {

std::string show_pod(const PodFabric& pod);

}  // namespace muster
