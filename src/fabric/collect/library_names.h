// SPDX-License-Identifier: Apache-2.0
// The names in a directory that matter to the search for NVIDIA's libraries:
// libnccl* (with NCCL's plugins), libcudart*, and python3*, which holds the
// wheels. A directory of libraries has thousands of entries, so `known` keeps
// the names with the directory's state.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"

namespace muster {

// Sorted; empty if there is no such directory. At most 256.
std::vector<std::string> library_names(const std::string& directory,
                                       KnownFiles& known);

}  // namespace muster
