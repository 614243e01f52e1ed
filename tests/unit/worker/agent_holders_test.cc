// SPDX-License-Identifier: Apache-2.0
// What killed agents leave goes, what living ones have stays.
#include "worker/agent_holders.h"

#include <stdlib.h>
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

TEST_CASE("a file of a holder that was cut short is not believed") {
  const TemporaryDirectory place;
  hold(place.path(), ::getpid(), "1", "launch-n1", "");
  hold(place.path(), 1, "1", "launch-n1");
  CHECK(agent_holders(place.path()).empty());
}

}  // namespace
}  // namespace muster
