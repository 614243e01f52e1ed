// SPDX-License-Identifier: Apache-2.0
// Does a program ask for one of these functions by name? Seen in what is linked
// dynamically; a script or an interpreter does not say what it will call.
// Refuses: files above 256 MiB. Blocks while it reads the file.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

// false also where the program is not found or is no ELF file.
bool program_names(const std::string& program, const Environment& env,
                   const std::string& cwd,
                   const std::vector<std::string>& functions);

}  // namespace muster
