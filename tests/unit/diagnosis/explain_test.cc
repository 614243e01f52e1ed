// SPDX-License-Identifier: Apache-2.0
// The manual: every code is documented, every documented code exists.
#include "diagnosis/explain.h"

#include <iostream>
#include <sstream>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/book/rule_book.h"

using namespace muster;

TEST_CASE("docs/failures.md and the rules tell the same") {
  const auto text = read_file(std::string(MUSTER_DOCS) + "/failures.md");
  REQUIRE(text);
  const RuleBook& rules = RuleBook::built_in();
  for (const Rule& rule : rules.rules()) {
    INFO(rule.code);
    CHECK(text->find("### " + rule.code + "\n") != std::string::npos);
    CHECK(text->find(rule.title) != std::string::npos);
  }
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with("### ")) continue;
    INFO(line);
    CHECK(rules.find(line.substr(4)) != nullptr);
  }
}

namespace {

// What a manual command prints; "refused" where it fails.
std::string printed(int (*command)(const std::vector<std::string>&),
                    const std::vector<std::string>& args) {
  std::ostringstream out;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  const int status = command(args);
  std::cout.rdbuf(before);
  return status == 0 ? out.str() : "refused";
}

}  // namespace

TEST_CASE("secrets of a log are not quoted") {
  const TemporaryDirectory directory;
  const std::string log = directory.at("log");
  directory.write("log",
                  "[rank 1] Traceback (most recent call last):\n"
                  "[rank 1]   File \"/app/train.py\", line 3, in <module>\n"
                  "[rank 1] ValueError: cannot log in with "
                  "DB_PASSWORD=Xq7vT2pLw9\n");
  for (const char* form : {"text", "json"}) {
    const std::string said = printed(explain_log_main, {log, "-o", form});
    CHECK(said.find("DB_PASSWORD=[masked]") != said.npos);
    CHECK(said.find("Xq7vT2pLw9") == said.npos);
  }
}

TEST_CASE("an exit code is explained by its number") {
  const auto said = [](const std::string& code) {
    return printed(explain_main, {code});
  };
  CHECK(said("200").starts_with("exit code 200, workers_not_ready: not every"));
  CHECK(said("200").find("worth another attempt") != std::string::npos);
  CHECK(said("200").find("\n  ssh_unreachable: ") != std::string::npos);
  CHECK(said("100").find("fails again") != std::string::npos);
  CHECK(said("139").find("killed by signal 11") != std::string::npos);
  CHECK(said("7") == "exit code 7: of the program that failed first\n");
  CHECK(said("256") == "refused");
  CHECK(said("-1") == "refused");
}

TEST_CASE("the manual commands know wrong command lines") {
  CHECK(explain_main({"gpu_oom"}) == 0);
  CHECK(explain_main({"tcp_refused"}) == 0);
  CHECK(explain_main({"gpu_oon"}) == 2);
  CHECK(explain_main({"a", "b"}) == 2);
  CHECK(explain_log_main({}) == 2);
  CHECK(explain_log_main({"-o", "xml", "f"}) == 2);
  CHECK(explain_log_main({"--rules", "/nonexistent", "f"}) == 2);
  CHECK(explain_log_main({"/nonexistent/log"}) == 1);
  CHECK(explain_log_main(
            {MUSTER_CORPUS "/real/openmpi_segfault.log", "-o", "json"}) == 0);
}
