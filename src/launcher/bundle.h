// SPDX-License-Identifier: Apache-2.0
// --bundle DIR: what is worth keeping of a launch, in a folder of its own:
// report.json, evidence.json (a case for tests/diagnosis), verdict.txt.
// Folders of launches that are older than a day are removed; at most
// kMaxBundles stay.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/report.h"

namespace muster {

constexpr size_t kMaxBundles = 32;

// The folder's path. Error code "bundle": it cannot be written.
Result<std::string> write_bundle(const std::string& directory,
                                 const LaunchReport& report);

}  // namespace muster
