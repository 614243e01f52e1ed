// SPDX-License-Identifier: Apache-2.0
#include "job/own_variables.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "catch.h"

using namespace muster;

TEST_CASE("every variable that the sources name is known") {
  const std::regex named(R"re("(MUSTER_[A-Z0-9_]+))re");
  std::set<std::string> found;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(MUSTER_SOURCES)) {
    const std::string suffix = entry.path().extension();
    if (suffix != ".cc" && suffix != ".h") continue;
    if (entry.path().filename() == "own_variables.cc") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator at(all.begin(), all.end(), named), end; at != end;
         ++at) {
      found.insert((*at)[1]);
    }
  }
  CHECK(found ==
        std::set<std::string>(own_variables().begin(), own_variables().end()));
}

TEST_CASE("a misspelled variable is told with the one that was meant") {
  const auto said = misspelled_variables({{"MUSTER_LOGFORMAT", "json"},
                                          {"MUSTER_TIMOUT", "1h"},
                                          {"MUSTER_HANG_TIMEOUTS", "10m"}});
  REQUIRE(said.size() == 3);
  CHECK(
      said[0] ==
      "the environment variable MUSTER_LOGFORMAT is unknown to muster and has "
      "no effect; did you mean MUSTER_LOG_FORMAT?");
  CHECK(said[1].ends_with("did you mean MUSTER_TIMEOUT?"));
  CHECK(said[2].ends_with("did you mean MUSTER_HANG_TIMEOUT?"));
}

TEST_CASE("what is spelled right or nothing like ours is no matter") {
  // The Service variables of one named "muster" and of "muster-metrics".
  CHECK(misspelled_variables({{"MUSTER_LOG_FORMAT", "json"},
                              {"MUSTER_PREFIX", "/opt/muster"},
                              {"MUSTER_SERVICE_HOST", "10.0.0.1"},
                              {"MUSTER_SERVICE_PORT", "80"},
                              {"MUSTER_PORT_80_TCP", "tcp://10.0.0.1:80"},
                              {"MUSTER_PORT_80_TCP_ADDR", "10.0.0.1"},
                              {"MUSTER_METRICS_SERVICE_HOST", "10.0.0.1"},
                              {"MUSTARD", "1"},
                              {"TIMOUT", "1"}})
            .empty());
}
