// SPDX-License-Identifier: Apache-2.0
// What killed agents leave goes, what living ones have stays.
#include "job/agent_holders.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "../base/temporary_directory.h"
#include "base/directory.h"
#include "base/process_table.h"
#include "base/runtime_dir.h"
#include "catch.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

void hold(const std::string& area, int pid, const std::string& start,
          const std::string& key, const std::string& end = "end\n") {
  REQUIRE(write_file_atomically(
      area + "/" + std::to_string(pid),
      start + "\nincarnation\nlaunch\n" + key + "\n" + end, 0600));
}

TEST_CASE("killed agents leave nothing, living ones keep what is theirs") {
  const TemporaryDirectory place;
  const char* before = ::getenv("TMPDIR");
  const std::string old = before == nullptr ? "" : before;
  ::setenv("TMPDIR", place.path().c_str(), 1);
  const std::string area = place.path() + "/muster-" + agent_area_name("job");
  fs::create_directory(area);
  REQUIRE(write_file_atomically(agent_area_lock(area), "", 0600));
  const std::string own = std::to_string(start_time(::getpid()));

  auto elsewhere = RuntimeDir::create_owned("launch-n2");
  REQUIRE(elsewhere);
  std::string left;
  {
    auto killed = RuntimeDir::create_owned("launch-n1");
    REQUIRE(killed);
    left = killed->path();
    killed->keep();
  }
  hold(area, 1 << 23, "5", "launch-n1");  // no such process, nor the next one
  hold(area, (1 << 23) + 1, "5", "launch-n2");  // but its directory is locked
  hold(area, ::getpid(), own, "launch-n3");
  CHECK(agent_holders(area).size() == 3);

  clear_after_killed_agents();
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(elsewhere->path()));
  CHECK(agent_holders(area).size() == 2);

  // With the last one the area goes, too.
  ::unlink((area + "/" + std::to_string(::getpid())).c_str());
  *elsewhere = RuntimeDir();
  clear_after_killed_agents();
  CHECK_FALSE(fs::exists(area));
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", old.c_str(), 1);
  }
}

// Pods may share /tmp: a volume, or a directory of their machine.
TEST_CASE("areas of other PID namespaces and boots are others") {
  const TemporaryDirectory proc;
  proc.write("sys/kernel/random/boot_id", "one\n");
  proc.link("self/ns/pid", "pid:[4026531836]");
  const std::string here = agent_area_name("job", proc.path());
  CHECK(agent_area_name("job", proc.path()) == here);
  CHECK(agent_area_name("other", proc.path()) != here);
  proc.write("sys/kernel/random/boot_id", "two\n");
  CHECK(agent_area_name("job", proc.path()) != here);
  proc.write("sys/kernel/random/boot_id", "one\n");
  fs::remove(proc.at("self/ns/pid"));
  proc.link("self/ns/pid", "pid:[4026532000]");
  CHECK(agent_area_name("job", proc.path()) != here);
}

TEST_CASE("what agents of another PID namespace have left is theirs") {
  const TemporaryDirectory place;
  const char* before = ::getenv("TMPDIR");
  const std::string old = before == nullptr ? "" : before;
  ::setenv("TMPDIR", place.path().c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t inner = ::fork();
    if (inner == 0) {
      // As far as that namespace knows, it lives.
      const std::string area =
          place.path() + "/muster-" + agent_area_name("job");
      fs::create_directory(area);
      const bool made =
          write_file_atomically(agent_area_lock(area), "", 0600) &&
          write_file_atomically(area + "/12345",
                                "5\nincarnation\nlaunch\nkey\nend\n", 0600);
      ::_exit(made ? 0 : 1);
    }
    int status = 1;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WEXITSTATUS(status) == 77) {
    WARN("needs PID namespaces");
  } else {
    CHECK(status == 0);
    const auto areas = names_in(place.path());
    REQUIRE(areas.size() == 1);
    CHECK(areas[0] != "muster-" + agent_area_name("job"));
    clear_after_killed_agents();
    CHECK(agent_holders(place.at(areas[0])).size() == 1);
  }
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", old.c_str(), 1);
  }
}

TEST_CASE("a file of a holder that was cut short is not believed") {
  const TemporaryDirectory place;
  hold(place.path(), ::getpid(), "1", "launch-n1", "");
  hold(place.path(), 1, "1", "launch-n1");
  CHECK(agent_holders(place.path()).empty());
}

}  // namespace
}  // namespace muster
