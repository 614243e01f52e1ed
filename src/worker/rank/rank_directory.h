// SPDX-License-Identifier: Apache-2.0
// The directory of a process of the job. Any thread.
#pragma once

#include <string>

namespace muster {

// `cwd` if set, else `cwd_if_there` if we may enter it; "": the agent's own.
std::string rank_directory(const std::string& cwd,
                           const std::string& cwd_if_there);

}  // namespace muster
