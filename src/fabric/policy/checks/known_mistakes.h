// SPDX-License-Identifier: Apache-2.0
// Releases that fail by their makers' notes or users' reports: a table of
// releases, machines and cures. Pure.
#pragma once

namespace muster {

struct FabricJob;

// Releases of the job's libraries that fail here; an upgrade or a setting
// helps.
void check_known_mistakes(FabricJob& job);

}  // namespace muster
