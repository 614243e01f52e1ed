// SPDX-License-Identifier: Apache-2.0
// One style for all commands: what each page must have.
#include "cli/command_table.h"

#include <cstdlib>
#include <set>

#include "catch.h"
#include "cli/command_help.h"

using namespace muster;

TEST_CASE("every command has a page in the one style") {
  std::set<std::string> names;
  for (const Command& command : commands()) {
    INFO(command.name);
    CHECK(names.insert(command.name).second);
    const Command* const found = find_command(command.name);
    REQUIRE(found != nullptr);
    CHECK(found->run == command.run);
    CHECK(find_command(command.name) == found);
    const HelpPage page = page_of(command);
    CHECK_FALSE(page.summary.empty());
    CHECK(page.summary.back() != '.');
    CHECK(page.examples.size() == 3);
    CHECK(page.exit_codes.size() >= 2);
    if (command.takes_help) CHECK(page.options.size() > 2);
    for (const OptionHelp& option : page.options) {
      INFO(option.flags[0]);
      CHECK_FALSE(option.text.empty());
    }
  }
  CHECK(find_command("launch") != nullptr);
  CHECK(find_command("lanch") == nullptr);
}

TEST_CASE("a variable that is refused does not empty a page") {
  ::setenv("MUSTER_GPU_BIND", "nonsense", 1);
  const HelpPage page = page_of(*find_command("launch"));
  ::unsetenv("MUSTER_GPU_BIND");
  CHECK(page.options.size() > 2);
}

TEST_CASE("completion knows every command and option") {
  const auto pages = all_pages();
  const std::string bash = bash_completion(pages);
  const std::string zsh = zsh_completion(pages);
  for (const HelpPage& page : pages) {
    for (const OptionHelp& option : page.options) {
      for (const std::string& flag : option.flags) {
        INFO(page.name << " " << flag);
        CHECK(bash.find(flag + " ") != std::string::npos);
        CHECK(zsh.find("'*" + flag + "[") != std::string::npos);
      }
    }
  }
}
