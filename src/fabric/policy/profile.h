// SPDX-License-Identifier: Apache-2.0
// Profiles: auto, tcp, rdma (required), rl. Chosen by flag, MUSTER_PROFILE or
// a pod annotation; never guessed from the program. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

enum class Profile { kAuto, kTcp, kRdma, kRl };

std::string_view profile_name(Profile profile);
// Also the names of algorithms that users of RL stacks know: ppo, grpo, gapo…
// Error code "unknown_profile".
Result<Profile> parse_profile(std::string_view word);

struct AppProfile {
  std::string app;  // name or index in an MPMD line
  Profile profile = Profile::kAuto;
};
// "trainer=auto". Error codes "usage", "unknown_profile".
Result<AppProfile> parse_app_profile(std::string_view text);

}  // namespace muster
