// SPDX-License-Identifier: Apache-2.0
// One style of help for all commands: reads back the options that a parser
// prints, and writes help text, man page and shell completion. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

struct OptionHelp {
  std::vector<std::string> flags;    // "-n", "--np"
  std::string value;                 // "N", "VALUE", "a|b"; "": takes none
  std::vector<std::string> choices;  // of a closed list; else empty
  std::string environment;           // "MUSTER_PORT", or ""
  std::string text;                  // what it does, with its default
  std::string group;                 // the heading above it
};

struct HelpPage {
  std::string name;  // "muster launch"
  std::string summary;
  std::string usage;
  std::vector<OptionHelp> options;
  std::vector<std::pair<std::string, std::string>> examples;
  std::vector<std::pair<std::string, std::string>> exit_codes;
  std::vector<std::string> words;  // subcommands
};

// Some ten options come first; --help shows their group in full.
inline constexpr std::string_view kMostUsed = "Most used";

// The option lines in any help text: two blanks or more, a dash, the option,
// and its text behind two blanks or on the next, deeper lines. Skips other
// lines.
std::vector<OptionHelp> parse_options(std::string_view help_text);

// For a terminal, lines of at most 80 columns. A page with most used options
// only names the others, unless `all`.
std::string help_text(const HelpPage& page, bool all = false);
// man(7), section 1. `version` goes into the footer.
std::string man_page(const HelpPage& page, const std::string& version);
// muster.1: which page has which command.
std::string man_overview(const std::vector<HelpPage>& pages,
                         const std::string& version);

// `pages` are all commands, each named "muster NAME".
std::string bash_completion(const std::vector<HelpPage>& pages);
std::string zsh_completion(const std::vector<HelpPage>& pages);

}  // namespace muster
