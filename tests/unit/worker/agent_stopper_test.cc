// SPDX-License-Identifier: Apache-2.0
// Which process that outlives SIGKILL is given up, when, and in what words, by
// a /proc of files.
#include "worker/session/agent_stopper.h"

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

void put(const TemporaryDirectory& proc, int pid, const std::string& state) {
  proc.write(std::to_string(pid) + "/stat",
             std::to_string(pid) + " (python3) " + state + " 1 1 1\n");
}

TEST_CASE("only a process inside the kernel is called unkillable") {
  using std::chrono::seconds;
  TemporaryDirectory proc;
  put(proc, 10, "R");
  put(proc, 11, "D");
  const auto told = [&](std::vector<pid_t> left, seconds since) {
    return why_not_ended(left, since, proc.path());
  };
  CHECK(told({10, 11}, seconds{9}).empty());
  CHECK(told({10, 11}, seconds{10}).starts_with("process 11 of this job"));
  CHECK(told({10, 11}, seconds{10}).find("inside the kernel") !=
        std::string::npos);
  // Every other state means that it was not run yet.
  for (const char* state : {"R", "S", "T", "t", "I"}) {
    INFO(state);
    put(proc, 10, state);
    CHECK(told({10}, seconds{10}).empty());
    CHECK(told({10}, seconds{59}).empty());
    const std::string late = told({10}, seconds{60});
    CHECK(late.starts_with("process 10 of this job has not ended 60 s after"));
    CHECK(late.find(std::string("state ") + state) != std::string::npos);
    CHECK(late.find("inside the kernel") == std::string::npos);
  }
  CHECK(told({}, seconds{60}).starts_with("a process of this job"));
  CHECK(told({99}, seconds{60}).find("state") == std::string::npos);
}

}  // namespace
}  // namespace muster
