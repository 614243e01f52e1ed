// SPDX-License-Identifier: Apache-2.0
// Whether a command line that may name a program asks for muster's help. Words
// from the program on belong to the program. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/help_page.h"

namespace muster {

enum class HelpRequest {
  kNone,
  kPage,  // --help, -h
  kAll,   // --help-all
};

// `options` are all that the command has: those that take a value have it in
// the next word, unless a '=' gives it.
HelpRequest asks_for_help(const std::vector<OptionHelp>& options,
                          const std::vector<std::string>& args);

}  // namespace muster
