// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <cstdio>

#include "cli/command_help.h"

namespace muster {

namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int completion_main(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == "bash") {
    return print(bash_completion(all_pages()));
  }
  if (args.size() == 1 && args[0] == "zsh") {
    return print(zsh_completion(all_pages()));
  }
  if (args.size() == 2 && args[0] == "man" && args[1] == "muster") {
    return print(man_overview(all_pages(), MUSTER_VERSION));
  }
  if (args.size() == 2 && args[0] == "man") {
    if (const Command* command = find_command(args[1])) {
      return print(man_page(page_of(*command), MUSTER_VERSION));
    }
    std::fprintf(stderr, "muster completion: there is no command %s\n",
                 args[1].c_str());
    return 2;
  }
  std::fprintf(stderr,
               "muster completion: say bash, zsh, or man and a command\n");
  return 2;
}

}  // namespace muster
