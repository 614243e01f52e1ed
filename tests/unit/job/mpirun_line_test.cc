// SPDX-License-Identifier: Apache-2.0
// What the golden table cannot show: odd words, rewriting word for word.
#include "job/mpirun_line.h"

#include "catch.h"
#include "job/mpirun_rewrite.h"

namespace muster {
namespace {

TEST_CASE("arguments are kept byte for byte") {
  const std::vector<std::string> program = {
      "bash", "-c", "echo 'a b'\n\"$X\" \\ \xff", "", "-np", "--hostfile", "f"};
  std::vector<std::string> words = {"mpirun", "-np", "2"};
  words.insert(words.end(), program.begin(), program.end());
  const auto line = parse_mpirun_line(words);
  REQUIRE(line);
  REQUIRE(line->apps.size() == 1);
  CHECK(line->apps[0].argv == program);
  CHECK(line->hostfiles.empty());
  const auto same = rewrite_mpirun_line(*line, {});
  REQUIRE(same);
  CHECK(same->words == words);
  CHECK(same->dropped.empty());
}

TEST_CASE("a known family decides what a word means") {
  // -s takes a value in Intel MPI and none in Open MPI.
  const std::vector<std::string> words = {"mpirun", "-s", "all", "./a"};
  const auto open = parse_mpirun_line(words, kOpenMpiLauncher);
  REQUIRE(open);
  CHECK(open->apps[0].argv == std::vector<std::string>{"all", "./a"});
  const auto intel = parse_mpirun_line(words, kIntelLauncher);
  REQUIRE(intel);
  CHECK(intel->apps[0].argv == std::vector<std::string>{"./a"});
  CHECK(intel->stdin_target == "all");
}

TEST_CASE("Intel MPI gets the slots of the hosts unless -ppn or -rr deals") {
  const auto told = [](std::vector<std::string> words) {
    const auto line = parse_mpirun_line(std::move(words), kIntelLauncher);
    REQUIRE(line);
    Replacement replacement;
    replacement.launcher = kIntelLauncher;
    replacement.hostfile = "/h";
    const auto rewritten = rewrite_mpirun_line(*line, replacement);
    REQUIRE(rewritten);
    return rewritten->words.at(1);
  };
  CHECK(told({"mpirun", "-n", "2", "./a"}) == "-machinefile");
  CHECK(told({"mpirun", "-ppn", "1", "-n", "2", "./a"}) == "-f");
  CHECK(told({"mpirun", "-rr", "-n", "2", "./a"}) == "-f");
}

TEST_CASE("the program's name decides where it can") {
  CHECK(launchers_by_name("/usr/bin/mpirun_rsh") == kMpirunRshLauncher);
  CHECK(launchers_by_name("mpirun.openmpi") == kOpenMpiLauncher);
  CHECK(launchers_by_name("./mpiexec.hydra") ==
        (kHydraLauncher | kIntelLauncher));
  CHECK(launchers_by_name("horovodrun") == kHorovodLauncher);
  CHECK(launchers_by_name("mpirun") ==
        (kOpenMpiLauncher | kHydraLauncher | kIntelLauncher));
}

TEST_CASE("an empty line, an empty word") {
  CHECK_FALSE(parse_mpirun_line({}));
  const auto line = parse_mpirun_line({"mpirun", ""});
  REQUIRE(line);
  CHECK(line->apps[0].argv == std::vector<std::string>{""});
  CHECK_FALSE(parse_mpirun_line({"mpirun", ":"}));
  CHECK_FALSE(parse_mpirun_line({"mpiexec.hydra", "a", ":", ":", "b"}));
}

TEST_CASE("a mapping of so many ranks per node needs a number") {
  for (const char* value : {"ppr:0:node", "ppr:-1:node", "PPR:x:node",
                            "ppr::node:PE=2", "ppr:0:socket"}) {
    const auto line = parse_mpirun_line({"mpirun", "--map-by", value, "./a"});
    INFO(value);
    REQUIRE_FALSE(line);
    CHECK(line.error().code == "usage");
    CHECK(line.error().text().find(value) != std::string::npos);
  }
  for (const char* value : {"ppr:2:node", "PPR:2:NODE:PE=4"}) {
    const auto line = parse_mpirun_line({"mpirun", "--map-by", value, "./a"});
    REQUIRE(line);
    CHECK(line->per_node == 2);
  }
  const auto socket =
      parse_mpirun_line({"mpirun", "--map-by", "ppr:2:socket", "./a"});
  REQUIRE(socket);
  CHECK_FALSE(socket->per_node);
}

TEST_CASE("the sum of ranks is bounded") {
  CHECK_FALSE(parse_mpirun_line(
      {"mpirun", "-np", "16777216", "a", ":", "-np", "16777216", "b"}));
  CHECK_FALSE(parse_mpirun_line({"mpirun", "-np", "16777217", "a"}));
}

TEST_CASE("the launcher program can be replaced") {
  const auto line = parse_mpirun_line({"mpirun", "-np", "2", "./a"});
  REQUIRE(line);
  Replacement replacement;
  replacement.program = "/usr/bin/mpirun.real";
  const auto rewritten = rewrite_mpirun_line(*line, replacement);
  REQUIRE(rewritten);
  CHECK(rewritten->words ==
        std::vector<std::string>{"/usr/bin/mpirun.real", "-np", "2", "./a"});
}

}  // namespace
}  // namespace muster
