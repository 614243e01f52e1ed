// SPDX-License-Identifier: Apache-2.0
// Joins a command's row of the table with the options of its own parser.
#pragma once

#include <vector>

#include "cli/command_table.h"
#include "cli/help_page.h"

namespace muster {

// Asks the parser by running the command with --help, its stdout caught in
// memory. Not while other threads write to stdout.
HelpPage page_of(const Command& command);
std::vector<HelpPage> all_pages();

}  // namespace muster
