// SPDX-License-Identifier: Apache-2.0
#include "cli/command_help.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/fd.h"

namespace muster {

namespace {

// The command's stdout for --help; "" if it cannot be caught.
std::string own_help(const Command& command) {
  const UniqueFd memory(::memfd_create("help", MFD_CLOEXEC));
  const UniqueFd before(::dup(STDOUT_FILENO));
  if (!memory || !before) return "";
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(memory.get(), STDOUT_FILENO);
  static_cast<void>(command.run({"--help"}));
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(before.get(), STDOUT_FILENO);
  std::string text;
  char part[4096];
  off_t at = 0;
  for (ssize_t n; (n = ::pread(memory.get(), part, sizeof part, at)) > 0;) {
    text.append(part, static_cast<size_t>(n));
    at += n;
  }
  return text;
}

}  // namespace

HelpPage page_of(const Command& command) {
  HelpPage page;
  page.name = "muster " + command.name;
  page.summary = command.summary;
  page.usage = page.name + " " + command.usage;
  page.options = parse_options(command.takes_help ? own_help(command)
                                                  : command.option_lines);
  page.examples = command.examples;
  page.exit_codes = command.exit_codes;
  page.words = command.words;
  return page;
}

std::vector<HelpPage> all_pages() {
  std::vector<HelpPage> pages;
  for (const Command& command : commands()) pages.push_back(page_of(command));
  return pages;
}

}  // namespace muster
