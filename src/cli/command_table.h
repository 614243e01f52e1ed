// SPDX-License-Identifier: Apache-2.0
// The commands of muster as data: their functions, and the texts of help,
// completion and man pages beyond their options. Each command's own parser
// lists options (its --help); only commands whose parser prints none carry
// their option lines here. Never changes at run time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster {

struct Command {
  std::string name;
  std::string summary;  // one clause, no full stop
  std::string usage;    // the words behind "muster NAME"
  int (*run)(const std::vector<std::string>&);
  std::vector<std::pair<std::string, std::string>> examples;    // line, why
  std::vector<std::pair<std::string, std::string>> exit_codes;  // code, meaning
  std::string option_lines = {};        // as --help would print them
  std::vector<std::string> words = {};  // subcommands, for completion
  bool takes_help = true;  // the parser knows --help; false: it is ours alone
};

const std::vector<Command>& commands();
// nullptr if there is no such command.
const Command* find_command(const std::string& name);
// Runs it; `--help` or `-h` as its first word prints its page instead.
int run_command(const Command& command, const std::vector<std::string>& args);

}  // namespace muster
