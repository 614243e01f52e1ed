// SPDX-License-Identifier: Apache-2.0
// From a command line to the command: its page for --help, one sentence for an
// unknown option, else the command itself.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "cli/command_help.h"
#include "cli/command_table.h"
#include "cli/help_request.h"

namespace muster {

namespace {

using Arguments = std::vector<std::string>;

// The first "--word" of `args` that the page does not know. Skips commands that
// say more about their own options, and words of other programs.
std::optional<std::string> unknown_option(const Command& command,
                                          const Arguments& args,
                                          Arguments& known) {
  static constexpr std::string_view kOwn[] = {"launch", "sshd",  "ssh",
                                              "fabric", "entry", "task"};
  for (const auto own : kOwn) {
    if (command.name == own) return std::nullopt;
  }
  if (!args.empty() && args[0] == "probe") return std::nullopt;
  known = {"--help", "--help-all"};
  for (const OptionHelp& option : page_of(command).options) {
    known.insert(known.end(), option.flags.begin(), option.flags.end());
  }
  for (const std::string& word : args) {
    if (word == "--") break;
    if (!word.starts_with("--") || word.find('=') != std::string::npos) {
      continue;
    }
    if (std::find(known.begin(), known.end(), word) == known.end()) return word;
  }
  return std::nullopt;
}

// As the first word, or behind options of ours; words behind a program are the
// program's. `-h` is short for it only if it cannot mean anything else: ssh and
// sshd have a meaning of their own for it.
HelpRequest wants_help(const Command& command, const Arguments& args) {
  if (args.empty()) return HelpRequest::kNone;
  const auto page_if = [](bool asked) {
    return asked ? HelpRequest::kPage : HelpRequest::kNone;
  };
  if (args[0] == "-h") return page_if(command.name != "sshd");
  if (args[0] == "--help") return HelpRequest::kPage;
  if (args[0] == "--help-all") return HelpRequest::kAll;
  if (!command.takes_help) {  // "fabric show --help": its one page
    return page_if(args.size() == 2 &&
                   (args[1] == "--help" || args[1] == "-h") &&
                   std::find(command.words.begin(), command.words.end(),
                             args[0]) != command.words.end());
  }
  // Makes a page only if it may be needed: every launch passes here.
  const bool may =
      std::any_of(args.begin(), args.end(), [](const std::string& word) {
        return word.starts_with("--help") || word == "-h";
      });
  if (!may) return HelpRequest::kNone;
  const bool runs_programs = command.usage.find("PROGRAM") != std::string::npos;
  if (runs_programs) return asks_for_help(page_of(command).options, args);
  const auto end = std::find(args.begin(), args.end(), "--");
  return page_if(std::find(args.begin(), end, "--help") != end);
}

}  // namespace

int run_command(const Command& command, const std::vector<std::string>& args) {
  Arguments known;
  if (const auto word = unknown_option(command, args, known)) {
    const auto near = nearest(*word, known);
    std::fprintf(stderr,
                 "muster %s: unknown option %s.%s See muster %s --help.\n",
                 command.name.c_str(), shell_quote(*word).c_str(),
                 near ? (" Did you mean " + *near + "?").c_str() : "",
                 command.name.c_str());
    return 2;
  }
  const HelpRequest request = wants_help(command, args);
  if (request == HelpRequest::kNone) return command.run(args);
  std::fputs(help_text(page_of(command), request == HelpRequest::kAll).c_str(),
             stdout);
  return 0;
}

}  // namespace muster
