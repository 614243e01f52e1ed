// SPDX-License-Identifier: Apache-2.0
// The exit code contract against real wait statuses.
#include "job/exit_codes.h"

#include <signal.h>

#include <set>
#include <string>

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

TEST_CASE("the classes") {
  const std::pair<int, const char*> rows[] = {{0, "success"},
                                              {2, "usage"},
                                              {100, "configuration"},
                                              {101, "preflight"},
                                              {102, "placement"},
                                              {124, "time_limit"},
                                              {126, "not_executable"},
                                              {127, "not_found"},
                                              {200, "workers_not_ready"},
                                              {201, "worker_lost"},
                                              {202, "preempted"},
                                              {203, "start_deadline"},
                                              {204, "worker_out_of_memory"},
                                              {209, "internal"}};
  std::set<std::string_view> meanings;
  for (const auto& [code, name] : rows) {
    const auto found = exit_class_by_code(code);
    REQUIRE(found);
    CHECK(exit_class_name(*found) == name);
    CHECK(exit_code_for(*found) == code);
    CHECK(is_retryable(*found) == (code >= 200));
    CHECK(meanings.insert(exit_class_meaning(*found)).second);
  }
  CHECK_FALSE(exit_class_by_code(1));
  CHECK_FALSE(exit_class_by_code(205));
}

}  // namespace
}  // namespace muster
