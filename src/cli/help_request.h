// SPDX-License-Identifier: Apache-2.0
// Does a command line that may name a program ask for our help, or for that of
// the program? Ours up to the program, its own from there on.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/help_page.h"

namespace muster {

// `options` are all that the command has: those that take a value have it in
// the next word, unless a '=' gives it.
bool asks_for_help(const std::vector<OptionHelp>& options,
                   const std::vector<std::string>& args);

}  // namespace muster
