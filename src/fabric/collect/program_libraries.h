// SPDX-License-Identifier: Apache-2.0
// Finds the NCCL, CUDA runtime, cuDNN and libfabric that a program will load:
// that of its Python's packages (wheels of NVIDIA's beside torch, one in torch,
// one linked into it, conda's), or the dynamic linker's for a compiled program.
// Reads the image's files; runs and loads nothing. A guess if only the program
// knows: it may open another by path.
#pragma once

#include <string>
#include <vector>

#include "base/known_files.h"
#include "fabric/collect/program_call.h"

namespace muster {

struct ProgramLibrary {
  std::string name;     // "NCCL", "CUDA runtime", "cuDNN", "libfabric"
  std::string path;     // in the image
  std::string version;  // "2.28.9"; "": unknown
  std::string why;      // "wheel of /venv, whose Python runs train.py"
};

struct ProgramLibraries {
  std::string program;  // the final program; "": not found
  std::string said;     // "/venv/bin/python3 (virtual environment /venv)"
  std::vector<ProgramLibrary> found;

  // Null if there is none.
  [[nodiscard]] const ProgramLibrary* find(const std::string& name) const;
};

ProgramLibraries program_libraries(const std::string& root,
                                   const ProgramCall& call, KnownFiles& known);

// A sentence for each, for `muster doctor` and `muster fabric show`.
std::vector<std::string> library_lines(const ProgramLibraries& libraries);

}  // namespace muster
