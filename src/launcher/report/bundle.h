// SPDX-License-Identifier: Apache-2.0
// --bundle DIR: keeps a launch in a folder of its own: report.json,
// evidence.json (a case for tests/diagnosis), verdict.txt, plan.json,
// facts.json, and logs/: the files of all ranks, with --log-dir those there
// (kept_logs.h). Removes folders of launches that are older than a day; at most
// kMaxBundles stay.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/report/report.h"

namespace muster {

constexpr size_t kMaxBundles = 32;

// The folder of write_bundle(), for earlier files.
std::string bundle_folder(const std::string& directory,
                          const std::string& launch_id);

struct Bundle {
  std::string folder;
  std::string left_out;  // a sentence; empty: nothing
};
// `log_directory`: that of --log-dir, or "". Error code "bundle": the folder is
// not writable.
Result<Bundle> write_bundle(const std::string& directory,
                            const LaunchReport& report,
                            const std::string& log_directory);

}  // namespace muster
