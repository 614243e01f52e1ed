// SPDX-License-Identifier: Apache-2.0
// The exit code contract against real wait statuses.
#include "job/exit_codes.h"

#include <signal.h>

#include <array>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

int exited(int code) { return code << 8; }

TEST_CASE("a rank's code passes unchanged, a signal is 128 + N") {
  CHECK(exit_code_for(exited(0)) == 0);
  CHECK(exit_code_for(exited(42)) == 42);
  CHECK(exit_code_for(exited(201)) == 201);
  CHECK(exit_code_for(exited(255)) == 255);
  CHECK(exit_code_for(SIGKILL) == 137);
  CHECK(exit_code_for(SIGSEGV | 0x80) == 139);
  CHECK(exit_code_for(0x137f) == 209);  // stopped: not an end
}

TEST_CASE("words for a wait status") {
  CHECK(describe_wait_status(exited(3)) == "exited with code 3");
  CHECK(describe_wait_status(SIGKILL) == "killed by signal 9 (Killed)");
  CHECK(describe_wait_status(SIGSEGV | 0x80) ==
        "killed by signal 11 (Segmentation fault), core dumped");
  CHECK(describe_wait_status(0x137f) == "has not ended (wait status 4991)");
}

// Code, class, "retry" or "final": the contract as it is recorded.
std::vector<std::array<std::string, 3>> recorded() {
  std::ifstream file(MUSTER_CONTRACTS "/exit-codes.tsv");
  std::vector<std::array<std::string, 3>> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto parts = split(line, '\t');
    REQUIRE(parts.size() == 3);
    out.push_back(
        {std::string(parts[0]), std::string(parts[1]), std::string(parts[2])});
  }
  return out;
}

TEST_CASE("the classes are those that are recorded") {
  std::vector<std::array<std::string, 3>> now;
  std::set<std::string_view> meanings;
  for (int code = 0; code < 256; ++code) {
    const auto found = exit_class_by_code(code);
    if (!found) continue;
    const std::string name(exit_class_name(*found));
    now.push_back(
        {std::to_string(code), name, is_retryable(*found) ? "retry" : "final"});
    CHECK(exit_code_for(*found) == code);
    CHECK(exit_class_by_name(name) == found);
    CHECK(meanings.insert(exit_class_meaning(*found)).second);
  }
  INFO(
      "Exit codes are a contract. If the change is meant, write a line below "
      "[Unreleased] in CHANGELOG.md, change docs/exit-codes.md, and change "
      "tests/contracts/exit-codes.tsv.");
  CHECK(now == recorded());
}

}  // namespace
}  // namespace muster
