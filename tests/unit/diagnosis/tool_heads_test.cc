// SPDX-License-Identifier: Apache-2.0
// What log tools put in front of every line, or around it, is nobody's words:
// logs with known answers get the same code and rank behind it.
#include <cstdio>

#include "base/json_text.h"
#include "corpus.h"
#include "diagnosis/log/common_head.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "sweep.h"

using namespace muster;

namespace {

using Wrap = std::string (*)(int seconds, const std::string& line);

std::string clock_of(int seconds) {
  char text[16];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d", 10 + seconds / 3600,
                seconds / 60 % 60, seconds % 60);
  return text;
}

std::string in_brackets(int seconds, const std::string& line) {
  return "[2026-11-22 " + clock_of(seconds) + "] " + line;
}

std::string by_airflow(int seconds, const std::string& line) {
  return "[2026-11-22, " + clock_of(seconds) +
         " UTC] {pod_manager.py:490} INFO - [base] " + line;
}

std::string by_logging(int seconds, const std::string& line) {
  return "2026-11-22 " + clock_of(seconds) + ",123 INFO __main__ " + line;
}

std::string by_compose(int /*seconds*/, const std::string& line) {
  return "trainer  | " + line;
}

std::string by_runtime(int seconds, const std::string& line) {
  std::string text = "{\"log\":";
  append_json_string(text, line + "\n");
  return text + R"(,"stream":"stderr","time":"2026-11-22T)" +
         clock_of(seconds) + "Z\"}";
}

std::string by_viewer(int number, const std::string& line) {
  return "   " + std::to_string(number + 1) + "\t" + line;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) lines.emplace_back(line);
  }
  return lines;
}

// How many of `folder` were long enough to have a head.
size_t check_folder(const std::string& folder, Wrap wrap, Sweep sweep) {
  constexpr size_t kEnough = 12;
  const std::string directory = std::string(MUSTER_CORPUS) + "/" + folder;
  size_t judged = 0;
  for (const Expected& expected : read_expected(directory)) {
    const auto text = read_file(directory + "/" + expected.file);
    REQUIRE(text);
    const std::vector<std::string> lines = lines_of(*text);
    // Its lines have a viewer's numbers, which are looked for in front only.
    const bool numbered = expected.file == "one_rank_did_not_enqueue.log";
    if (lines.size() < kEnough || numbered || !sweep.takes()) continue;
    ++judged;
    std::string wrapped;
    int number = 0;
    for (const std::string& line : lines)
      wrapped += wrap(number++, line) + "\n";
    const Verdict verdict =
        diagnose(evidence_from_log(wrapped, RuleBook::built_in()));
    INFO(folder << "/" << expected.file << "\n"
                << wrapped.substr(0, 120) << "\n"
                << verdict_text(verdict));
    CHECK(is_right(verdict.code, expected.code));
    if (expected.rank >= 0) CHECK(verdict.first_rank == expected.rank);
  }
  return judged;
}

std::string_view stripped(std::vector<std::string> first,
                          std::string_view line) {
  CommonHead head;
  for (const std::string& one : first) head.look(one);
  head.decide();
  return head.strip(line).text;
}

}  // namespace

TEST_CASE("logs behind a log tool's heads get the right verdict") {
  size_t start = 0;
  for (const Wrap wrap : {in_brackets, by_airflow, by_logging, by_compose,
                          by_runtime, by_viewer}) {
    CHECK(check_folder("heldout", wrap, Sweep(start++)) > 30);
  }
}

TEST_CASE("a head is a time and what is no message") {
  const std::vector<std::string> same = {
      "10:00:01 [base] a", "10:00:02 [base] b", "10:00:03 [base] c",
      "10:00:04 [base] d"};
  CHECK(stripped(same, "10:00:05 [base] ERROR e") == "ERROR e");
  CHECK(stripped(same, "10:00:05 other") == "10:00:05 other");
  CHECK(stripped({same[0], same[1], same[2]}, same[0]) == same[0]);  // too few
  // The program's own: how serious it is, whose it is, what it says.
  for (const std::string own :
       {"[ERROR] x", "[rank0] x", "ssh: connect to host x", "[0] x"}) {
    const std::string line = "[2026-11-22 10:00:01] " + own;
    CHECK(stripped({line, line, line, line}, line) == own);
  }
  const std::string glog = "E1122 10:00:01.123456 7 a.py:3] failed";
  CHECK(stripped({glog, glog, glog, glog}, glog) == glog);
}
