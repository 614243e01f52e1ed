// SPDX-License-Identifier: Apache-2.0
// Versions of NCCL and the CUDA runtime in the image, without loading them:
// from file names, from the metadata that pip leaves beside a wheel, and for
// NCCL, last, from the version text inside the library.
// Directories in search order; "" where nothing is found.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"

namespace muster {

// LD_LIBRARY_PATH, the directories of /etc/ld.so.conf, the usual ones, and
// where pip and conda put NVIDIA's wheels. `root` is put before each.
std::vector<std::string> library_directories(
    const std::string& root, const std::string& ld_library_path);

// "2.21.5"; `known` may spare the search, and takes up what it finds.
std::string nccl_version(const std::vector<std::string>& directories,
                         KnownFiles& known);
// "12.4"
std::string cuda_runtime_version(const std::vector<std::string>& directories,
                                 KnownFiles& known);

}  // namespace muster
