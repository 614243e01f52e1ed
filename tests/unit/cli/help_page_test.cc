// SPDX-License-Identifier: Apache-2.0
#include "cli/help_page.h"

#include "base/text.h"
#include "catch.h"
#include "cli/help_request.h"

using namespace muster;

namespace {

constexpr const char* kHelp =
    "Starts a job.\n"
    "Usage: muster launch [OPTIONS]\n"
    "\n"
    "Options:\n"
    "  -h,--help                   Print this help message and exit\n"
    "  -n,--np INT:INT in [1 - 9]  ranks to start\n"
    "  --bootstrap TEXT:{auto,pmix} (Env:MUSTER_BOOTSTRAP)\n"
    "                              who starts the ranks\n"
    "                              in the end\n"
    "  --no-prove{false}           skip the check\n"
    "  -x,--env TEXT ...           NAME=VALUE\n"
    "  --job TEXT REQUIRED         its name\n"
    "\n"
    "Examples:\n"
    "        - not an option\n";

}  // namespace

TEST_CASE("options are read back from a parser's help") {
  const auto options = parse_options(kHelp);
  REQUIRE(options.size() == 6);
  CHECK(options[1].flags == std::vector<std::string>{"-n", "--np"});
  CHECK(options[1].value == "N");
  CHECK(options[1].text == "ranks to start");
  CHECK(options[2].choices == std::vector<std::string>{"auto", "pmix"});
  CHECK(options[2].environment == "MUSTER_BOOTSTRAP");
  CHECK(options[2].text == "who starts the ranks in the end");
  CHECK(options[3].flags == std::vector<std::string>{"--no-prove"});
  CHECK(options[3].value.empty());
  CHECK(options[4].value == "VALUE...");
  CHECK(options[5].value == "VALUE");
  CHECK(parse_options("  --listen [HOST:]PORT    wait")[0].value ==
        "[HOST:]PORT");
  CHECK(parse_options("  -n INT:INT in [1 - 9]   ranks")[0].value == "N");
}

TEST_CASE("help fits a terminal and says everything") {
  HelpPage page;
  page.name = "muster launch";
  page.summary = "start a job";
  page.usage = "muster launch PROGRAM";
  page.options = parse_options(kHelp);
  page.options[0].text = std::string(30, 'a') + ' ' + std::string(30, 'b');
  page.examples = {{"muster launch ./app", "as it is"}};
  page.exit_codes = {{"0", "well"}};
  const std::string text = help_text(page);
  for (const auto line : split(text, '\n')) CHECK(line.size() <= 80);
  for (const char* part :
       {"usage: muster launch PROGRAM\n", "Start a job.\n", "auto|pmix",
        "[MUSTER_BOOTSTRAP]", "muster launch ./app", "Exit codes:"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("help is ours up to the program, and the program's from there on") {
  using Words = std::vector<std::string>;
  const auto options = parse_options(kHelp);
  for (const Words& ours :
       {Words{"--help"}, Words{"-h"}, Words{"-n", "4", "--help"},
        Words{"-np", "4", "-h"}, Words{"--no-prove", "--help", "./app"},
        Words{"--bootstrap=pmix", "--help"}, Words{"-x", "A=1", "--help"}}) {
    INFO(join(ours, " "));
    CHECK(asks_for_help(options, ours) == HelpRequest::kPage);
  }
  for (const Words& other :
       {Words{}, Words{"./app", "--help"}, Words{"-n", "4", "./app", "--help"},
        Words{"--", "--help"}, Words{"-x", "--help"}, Words{"-n", "--help"},
        Words{"--no-such", "--help"}, Words{"-n", "4"}}) {
    INFO(join(other, " "));
    CHECK(asks_for_help(options, other) == HelpRequest::kNone);
  }
}

TEST_CASE("a page with groups explains the most used options first") {
  HelpPage page;
  page.name = "muster launch";
  page.summary = "start a job";
  page.usage = "muster launch PROGRAM";
  page.options = parse_options(
      "Most used:\n"
      "  -n,--np INT  ranks to start\n"
      "\n"
      "Placement:\n"
      "  -H,--host TEXT  hosts, as in a:2\n"
      "  --map-by TEXT  slot or node\n");
  REQUIRE(page.options.size() == 3);
  CHECK(page.options[0].group == kMostUsed);
  CHECK(page.options[2].group == "Placement");
  const std::string brief = help_text(page);
  CHECK(brief.find("Most used:\n  -n, --np N") != std::string::npos);
  CHECK(brief.find("  Placement   --host, --map-by\n") != std::string::npos);
  CHECK(brief.find("`muster launch --help-all`") != std::string::npos);
  CHECK(brief.find("slot or node") == std::string::npos);
  const std::string whole = help_text(page, true);
  CHECK(whole.find("Placement:\n  -H, --host VALUE") != std::string::npos);
  CHECK(whole.find("slot or node") != std::string::npos);
  CHECK(man_page(page, "1").find(".SS Placement\n") != std::string::npos);
  CHECK(asks_for_help(page.options, {"-n", "4", "--help-all"}) ==
        HelpRequest::kAll);
  CHECK(asks_for_help(page.options, {"./app", "--help-all"}) ==
        HelpRequest::kNone);
}

TEST_CASE("man pages have no requests by accident") {
  HelpPage page;
  page.name = "muster x";
  page.summary = ".so /etc/passwd";
  page.usage = "muster x";
  page.exit_codes = {{"0", "'tis \\fine"}};
  const std::string text = man_page(page, "1");
  CHECK(text.find("\n.so") == std::string::npos);
  CHECK(text.find("\\&'tis \\efine") != std::string::npos);
  CHECK(text.find(".SH EXIT STATUS") != std::string::npos);
}

TEST_CASE("the manual's first page names the page of each command") {
  HelpPage one;
  one.name = "muster explain-log";
  one.summary = "Say why.";
  const std::string text = man_overview({one}, "1");
  CHECK(text.starts_with(".TH MUSTER 1"));
  CHECK(text.find("\\fBmuster\\-explain\\-log\\fR(1)\nSay why.\n") !=
        std::string::npos);
}
