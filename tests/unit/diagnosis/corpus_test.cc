// SPDX-License-Identifier: Apache-2.0
// Every recorded and written failure against its known answer, with a table of
// precision and recall per class. See tests/diagnosis/README.md.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

struct Expected {
  std::string file;
  std::string code;
  int rank = -1;
  int exit_code = -1;
  std::string confidence;
  std::string host;  // empty: not asked
};

std::vector<Expected> read_expected(const std::string& directory) {
  const auto text = read_file(directory + "/expected.tsv");
  REQUIRE(text);
  std::vector<Expected> all;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = split(line, '\t');
    REQUIRE(fields.size() >= 3);
    Expected expected{std::string(fields[0]), std::string(fields[1])};
    expected.rank = static_cast<int>(parse_integer(fields[2]).value_or(-1));
    if (fields.size() >= 5) {
      if (const auto exit_code = parse_integer(fields[3])) {
        expected.exit_code = static_cast<int>(*exit_code);
        expected.confidence = fields[4];
      } else if (fields[3] != "-") {
        expected.host = fields[3];
      }
    }
    all.push_back(expected);
  }
  return all;
}

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

// Of "a|b" either is right.
bool is_right(const std::string& code, const std::string& wanted) {
  const auto all = split(wanted, '|');
  return std::find(all.begin(), all.end(), code) != all.end();
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
    if (!expected.host.empty()) CHECK(verdict.host == expected.host);
    if (expected.exit_code >= 0) {
      CHECK(verdict.exit_code == expected.exit_code);
      CHECK(to_text(verdict.confidence) == expected.confidence);
    }
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
