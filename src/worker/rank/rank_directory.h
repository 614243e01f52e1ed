// SPDX-License-Identifier: Apache-2.0
// Where a process of the job runs. Any thread.
#pragma once

#include <string>

namespace muster {

// `cwd` if it says one, else `cwd_if_there` if we may enter it; "": where the
// agent itself is.
std::string rank_directory(const std::string& cwd,
                           const std::string& cwd_if_there);

}  // namespace muster
