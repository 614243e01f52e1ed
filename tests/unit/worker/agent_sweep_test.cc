// SPDX-License-Identifier: Apache-2.0
// Who descends from whom, by a /proc of files.
#include "worker/base/agent_sweep.h"

#include <thread>

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

void put(const TemporaryDirectory& proc, int pid, int parent,
         const std::string& state = "S") {
  proc.write(std::to_string(pid) + "/stat",
             std::to_string(pid) + " (a ) b) " + state + " " +
                 std::to_string(parent) + " 1 1\n");
}

using Pids = std::vector<pid_t>;

TEST_CASE("a tree is found, without what has ended") {
  TemporaryDirectory proc;
  put(proc, 10, 1);
  put(proc, 11, 10);
  put(proc, 12, 11);
  put(proc, 13, 10, "Z");
  put(proc, 20, 1);
  CHECK(with_descendants(10, proc.path()) == Pids{10, 11, 12});
  CHECK(with_descendants(99, proc.path()).empty());
}

TEST_CASE("many who ask at once look once") {
  TemporaryDirectory proc;
  put(proc, 10, 1);
  put(proc, 11, 10);
  RecentProcesses recent(proc.path());
  CHECK(recent.with_descendants(10) == Pids{10, 11});
  put(proc, 12, 10);
  const auto next = recent.with_descendants(10);
  std::this_thread::sleep_for(RecentProcesses::kMoment);
  CHECK(recent.with_descendants(10) == Pids{10, 11, 12});
  // A machine that was busy meanwhile may have looked again.
  CHECK((next == Pids{10, 11} || next == Pids{10, 11, 12}));
}

}  // namespace
}  // namespace muster
