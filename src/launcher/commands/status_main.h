// SPDX-License-Identifier: Apache-2.0
// `muster status`, `muster ps` and `muster top`: a running launch, seen from
// another shell in the launcher's pod, or from a debug container that sees its
// processes. Read only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/report/status.h"

namespace muster {

struct RunningLaunch {
  std::string directory;
  JobStatus status;
};
// Those of this pod, by the files that they keep.
std::vector<RunningLaunch> running_launches();
// One of them by its directory; nothing if it is gone, or no longer fresh.
std::optional<JobStatus> status_in(const std::string& directory);
// Why there is none, without a full stop.
std::string no_launch_sentence();

// `args` without the command's name. Exit codes 0, 1 (no launch runs here), 2.
int status_main(const std::vector<std::string>& args);
int ps_main(const std::vector<std::string>& args);
int top_main(const std::vector<std::string>& args);

}  // namespace muster
