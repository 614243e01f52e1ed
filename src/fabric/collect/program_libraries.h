// SPDX-License-Identifier: Apache-2.0
// Which NCCL, CUDA runtime, cuDNN and libfabric a program will load: that of
// its Python's packages (wheels of NVIDIA's beside torch, one in torch, one
// linked into it, conda's), or as the dynamic linker finds it for a compiled
// program. Reads the image's files; runs and loads nothing. A guess where only
// the program knows: it may open another by path.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"
#include "fabric/collect/program_call.h"

namespace muster {

struct ProgramLibrary {
  std::string name;     // "NCCL", "CUDA runtime", "cuDNN", "libfabric"
  std::string path;     // in the image
  std::string version;  // "2.28.9"; "": it does not tell
  std::string why;      // "wheel of /venv, whose Python runs train.py"
};

struct ProgramLibraries {
  std::string program;  // what runs in the end; "": not found
  std::string said;     // "/venv/bin/python3 (virtual environment /venv)"
  std::vector<ProgramLibrary> found;

  // Null where none was found.
  [[nodiscard]] const ProgramLibrary* find(const std::string& name) const;
};

ProgramLibraries program_libraries(const std::string& root,
                                   const ProgramCall& call, KnownFiles& known);

// A sentence for each, as `muster doctor` and `muster fabric show` print them.
std::vector<std::string> library_lines(const ProgramLibraries& libraries);

}  // namespace muster
