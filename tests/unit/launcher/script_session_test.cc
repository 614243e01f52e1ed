// SPDX-License-Identifier: Apache-2.0
// How a script's own mpirun finds the launcher above it.
#include "launcher/plan/script_session.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "../base/temporary_directory.h"
#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

ScriptSession sample() {
  ScriptSession session;
  session.hostfile = "/run/m/hostfile";
  session.launcher = kOpenMpiLauncher;
  session.options = {"--oversubscribe"};
  session.wrapper = {};
  return session;
}

struct Variable {
  Variable(const char* n, const std::string& value) : name(n) {
    if (const char* was = ::getenv(n)) before = was;
    ::setenv(n, value.c_str(), 1);
  }
  ~Variable() {
    before ? ::setenv(name, before->c_str(), 1) : ::unsetenv(name);
  }
  const char* name;
  std::optional<std::string> before;
};

TEST_CASE("a session survives its JSON") {
  const auto read = script_session_from_json(to_json(sample()));
  REQUIRE(read);
  CHECK(read->hostfile == "/run/m/hostfile");
  CHECK(read->launcher == kOpenMpiLauncher);
  CHECK(read->options == sample().options);
  CHECK(read->wrapper.empty());
}

TEST_CASE("what is not a session is refused") {
  for (const char* bad :
       {"", "[]", "{}", "{\"hostfile\":1}",
        R"({"hostfile":"h","launcher":-1,"options":[],"wrapper":[]})",
        R"({"hostfile":"h","launcher":99,"options":[],"wrapper":[]})",
        R"({"hostfile":"h","launcher":1,"options":[1],"wrapper":[]})",
        R"({"hostfile":"h","launcher":1,"options":[]})"}) {
    INFO(bad);
    const auto session = script_session_from_json(bad);
    REQUIRE_FALSE(session);
    CHECK(session.error().code == "protocol");
  }
}

TEST_CASE("found through the environment, or not at all") {
  CHECK_FALSE(find_script_session());
  const TemporaryDirectory directory;
  directory.write("s.json", to_json(sample()));
  {
    const Variable variable("MUSTER_SCRIPT_SESSION", directory.at("s.json"));
    const auto session = find_script_session();
    REQUIRE(session);
    CHECK(session->hostfile == "/run/m/hostfile");
  }
  const Variable variable("MUSTER_SCRIPT_SESSION", directory.at("none"));
  CHECK_FALSE(find_script_session());
}

TEST_CASE("a script's mpirun line becomes ours") {
  const TemporaryDirectory directory;
  directory.write("bin/mpirun", "#!/bin/sh\n");
  ::chmod(directory.at("bin/mpirun").c_str(), 0755);
  const Variable path("PATH", directory.at("bin"));
  const auto words = rewrite_for_script(
      sample(), {"mpirun", "-np", "2", "--hostfile", "/theirs", "./app"});
  REQUIRE(words);
  CHECK(words->at(0) == directory.at("bin/mpirun"));
  const std::string line = join(*words, " ");
  CHECK(line.find("/run/m/hostfile") != std::string::npos);
  CHECK(line.find("/theirs") == std::string::npos);
  CHECK(line.find("--oversubscribe") != std::string::npos);
  CHECK(line.ends_with("./app"));
  const auto none = rewrite_for_script(sample(), {"prterun", "./app"});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == "exe_not_found");
}

}  // namespace
}  // namespace muster
