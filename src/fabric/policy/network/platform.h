// SPDX-License-Identifier: Apache-2.0
// Finds the cloud or vendor of this machine by DMI texts and driver names: pods
// have no metadata service to ask. Pure.
#pragma once

#include <string_view>

#include "fabric/facts/facts.h"

namespace muster {

enum class Platform { kNone, kAws, kAzure, kGcp, kOci, kAlibaba, kSlingshot };

Platform platform_of(const PodFabric& pod);
std::string_view platform_name(Platform platform);

}  // namespace muster
