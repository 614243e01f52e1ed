// SPDX-License-Identifier: Apache-2.0
// The directories in which a Python interpreter looks for packages (site.py),
// without running it: PYTHONPATH, the user's own, those of a virtual
// environment, of conda, and of a distribution. Reads files of the image.
#pragma once

#include <string>
#include <vector>

#include "fabric/collect/program_call.h"

namespace muster {

struct PythonPlace {
  std::string prefix;                 // of the environment: "/venv", "/usr"
  std::string kind;                   // "virtual environment", "conda", ""
  std::vector<std::string> packages;  // directories of packages, in order
};

// "python", "python3.12", "pypy3".
bool is_python(const std::string& path);

PythonPlace python_place(const std::string& root, const ProgramFile& program);

}  // namespace muster
