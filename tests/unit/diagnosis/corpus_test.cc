// SPDX-License-Identifier: Apache-2.0
// Every recorded and written failure against its known answer, with a table of
// precision and recall per class. See tests/diagnosis/README.md.
#include <array>
#include <cstdio>
#include <map>

#include "corpus.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "sweep.h"

using namespace muster;

namespace {

Verdict judge(const std::string& path) {
  const auto text = read_file(path);
  REQUIRE(text);
  if (!path.ends_with(".json")) {
    return diagnose(evidence_from_log(*text, RuleBook::built_in()));
  }
  // Recorded evidence is indented for people; JSON does not mind.
  const auto evidence = evidence_from_json(*text);
  INFO((evidence ? "" : evidence.error().text()));
  REQUIRE(evidence);
  return diagnose(*evidence);
}

struct Score {
  int wanted = 0;
  int found = 0;
  int right = 0;
};

void check_folder(const std::string& name) {
  const std::string directory = std::string(MUSTER_CORPUS) + "/" + name;
  std::map<std::string, Score> scores;
  for (const Expected& expected : read_expected(directory)) {
    const Verdict verdict = judge(directory + "/" + expected.file);
    INFO(name + "/" + expected.file + "\n" + verdict_text(verdict));
    ++scores[expected.code].wanted;
    ++scores[verdict.code].found;
    const bool right = is_right(verdict.code, expected.code);
    INFO("got " + verdict.code + ", wanted " + expected.code);
    if (right) ++scores[expected.code].right;
    CHECK(right);
    if (expected.rank >= 0) CHECK(verdict.first_rank == expected.rank);
    if (expected.no_rank) CHECK(verdict.first_rank == -1);
    if (!expected.host.empty()) CHECK(verdict.host == expected.host);
    if (expected.exit_code >= 0) {
      CHECK(verdict.exit_code == expected.exit_code);
      CHECK(to_text(verdict.confidence) == expected.confidence);
    }
    if (verdict.failed()) CHECK_FALSE(verdict.remedies.empty());
    // The one promise without exceptions.
    if (verdict.confidence == Confidence::kProven) {
      CHECK(right);
    }
  }
  std::printf("%-24s %6s %6s %6s\n", name.c_str(), "wanted", "found", "right");
  for (const auto& [code, score] : scores) {
    std::printf("  %-22s %6d %6d %6d\n", code.c_str(), score.wanted,
                score.found, score.right);
  }
}

}  // namespace

TEST_CASE("logs that real launchers wrote get the right verdict") {
  check_folder("real");
}

TEST_CASE("evidence of real processes gets the right verdict") {
  check_folder("evidence");
}

TEST_CASE("logs written after public reports get the right verdict") {
  check_folder("written");
}

TEST_CASE("excerpts of public reports get the right verdict") {
  check_folder("public");
}

TEST_CASE("logs written without a look at the rules get the right verdict") {
  check_folder("heldout");
}

TEST_CASE("logs of the kinds that were judged wrongly get the right verdict") {
  check_folder("kinds");
}

// Each of these stood in front of logs whose cause it was not.
TEST_CASE("what prepares a job's shell changes no verdict") {
  const std::array<std::string, 4> preambles = {
      "bash: nvidia-smi: command not found\n",
      "CommandNotFoundError: Your shell has not been properly configured to "
      "use 'conda activate'.\nTo initialize your shell, run\n\n"
      "    $ conda init <SHELL_NAME>\n\n"
      "mesg: ttyname failed: Inappropriate ioctl for device\n",
      "/home/user/.bashrc: line 12: /opt/conda/etc/profile.d/conda.sh: No such "
      "file or directory\nmesg: cannot open /dev/pts/0: Permission denied\n"
      "perl: warning: Setting locale failed.\n",
      "Lmod has detected the following error: The following module(s) are "
      "unknown: \"openmpi/4.1.5\"\n\nPlease check the spelling or version "
      "number. Also try \"module spider ...\"\n"
      "bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\n"};
  const std::string directory = std::string(MUSTER_CORPUS) + "/public";
  size_t start = 0;
  for (const std::string& preamble : preambles) {
    size_t all = 0;
    size_t changed = 0;
    Sweep sweep(start++);
    for (const Expected& expected : read_expected(directory)) {
      if (!sweep.takes()) continue;
      const auto log = read_file(directory + "/" + expected.file);
      REQUIRE(log);
      const Verdict verdict =
          diagnose(evidence_from_log(preamble + *log, RuleBook::built_in()));
      ++all;
      if (!is_right(verdict.code, expected.code)) ++changed;
    }
    INFO(preamble << changed << " of " << all << " changed");
    // Behind one or two lines of a log the shell may have ended it.
    CHECK(changed * 50 <= all);
  }
}
