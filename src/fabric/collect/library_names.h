// SPDX-License-Identifier: Apache-2.0
// What of a directory matters to the search for NVIDIA's libraries, by name:
// libnccl* (plugins of NCCL among them), libcudart*, and python3*, below which
// wheels are. A directory of libraries has thousands of entries, so what was
// seen is kept with the directory's state in `known`.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"

namespace muster {

// Sorted; empty where there is no such directory. At most 256.
std::vector<std::string> library_names(const std::string& directory,
                                       KnownFiles& known);

}  // namespace muster
