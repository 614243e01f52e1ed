// SPDX-License-Identifier: Apache-2.0
// Releases that fail in ways their makers or users have told: a table of which,
// on what machines, and what mends it. Pure.
#pragma once

namespace muster {

struct FabricJob;

// Releases of the job's libraries that fail here, by an upgrade or a setting.
void check_known_mistakes(FabricJob& job);

}  // namespace muster
