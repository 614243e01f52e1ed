// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace muster {

struct FabricJob;

// Releases of the job's libraries that fail here, by an upgrade or a setting.
void check_known_mistakes(FabricJob& job);

}  // namespace muster
