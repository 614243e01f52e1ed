// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries in the image, or AMD's RCCL: their paths and versions,
// without loading them. The version comes from the file name, from the metadata
// that pip leaves beside a wheel, or, for NCCL, from the text in the library.
// `known` caches what is slow to find.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"

namespace muster {

struct LibraryDirectory {
  std::string path;
  std::vector<std::string> names;  // libnccl*, librccl* and libcudart*, sorted
};
// In search order, without directories that hold none.
using ImageLibraries = std::vector<LibraryDirectory>;

// LD_LIBRARY_PATH, the directories of /etc/ld.so.conf, the usual ones, those of
// NCCL's plugins, and where pip and conda put NVIDIA's wheels; each directory
// once. `root` is put before each.
ImageLibraries find_libraries(const std::string& root,
                              const std::string& ld_library_path,
                              KnownFiles& known);

// "2.21.5", of RCCL "RCCL 2.21.5"; "" if none has a version.
std::string nccl_version(const ImageLibraries& libraries, KnownFiles& known);
// "12.4"
std::string cuda_runtime_version(const ImageLibraries& libraries,
                                 KnownFiles& known);

// Of one file, libnccl.so.2 or a library that NCCL is linked into: "2.21.5".
std::string nccl_version_of(const std::string& path, KnownFiles& known);
// Of libcudart.so.12, libcudnn.so.9 or libfabric.so.1: by a file's name, or by
// the metadata of `wheel` ("nvidia_cudnn_cu"); "" if neither has it.
std::string named_version_of(const std::string& path, const std::string& wheel,
                             KnownFiles& known);

}  // namespace muster
