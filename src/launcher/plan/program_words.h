// SPDX-License-Identifier: Apache-2.0
// Whether a program asks for one of these functions by name. Reads its dynamic
// symbols; a script or an interpreter does not show its calls. Refuses: files
// above 256 MiB. Blocks while it reads the file.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

// false also if the program is missing or is not an ELF file.
bool program_names(const std::string& program, const Environment& env,
                   const std::string& cwd,
                   const std::vector<std::string>& functions);

}  // namespace muster
