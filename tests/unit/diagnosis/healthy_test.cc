// SPDX-License-Identifier: Apache-2.0
// Logs of jobs that ended well, with the alarming words that such logs hold:
// none of them may become a failure. See tests/diagnosis/README.md.
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

constexpr std::string_view kHead = "=== ";

// "=== what it is", then the log.
size_t check_logs(const std::string& file) {
  const auto text =
      read_file(std::string(MUSTER_CORPUS) + "/healthy/" + file + ".txt");
  REQUIRE(text);
  size_t logs = 0;
  std::string name;
  std::string log;
  const auto judge = [&] {
    if (name.empty()) return;
    ++logs;
    const Verdict verdict =
        diagnose(evidence_from_log(log, RuleBook::built_in()));
    INFO(file << ": " << name << "\n" << verdict_text(verdict));
    CHECK(verdict.code == "no_failure");
  };
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with(kHead)) {
      judge();
      name = line.substr(kHead.size());
      log.clear();
    } else {
      log += line;
      log += '\n';
    }
  }
  judge();
  return logs;
}

// Those that follow speak of nothing at all.
std::string log_with(std::string_view line) {
  return "loading the configuration\n" + std::string(line) + "\nbye\n";
}

}  // namespace

TEST_CASE("healthy lines with alarming words give no cause") {
  const auto text =
      read_file(std::string(MUSTER_CORPUS) + "/healthy/lines.txt");
  REQUIRE(text);
  size_t lines = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    ++lines;
    const Verdict verdict =
        diagnose(evidence_from_log(log_with(line), RuleBook::built_in()));
    INFO(line << "\n" << verdict_text(verdict));
    CHECK(verdict.code == "no_failure");
  }
  std::printf("healthy lines            %4zu\n", lines);
  CHECK(lines >= 60);
}

TEST_CASE("logs of jobs that ended well are no failures") {
  size_t logs = 0;
  for (const char* const file :
       {"machine-learning", "mpi", "platform", "recovered"}) {
    logs += check_logs(file);
  }
  std::printf("healthy logs             %4zu\n", logs);
  CHECK(logs >= 60);
}
