// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/mpirun_leftovers.h"

#include <unistd.h>

#include <filesystem>

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;
namespace fs = std::filesystem;

namespace {

std::string own_host() {
  char name[256] = "";
  REQUIRE(::gethostname(name, sizeof name - 1) == 0);
  return name;
}

}  // namespace

TEST_CASE("where Open MPI 4 and 5 keep a session") {
  const auto places =
      mpirun_sessions({{"TMPDIR", "/scratch"}}, "pi.sub", 7, 42);
  REQUIRE(places.size() == 4);
  CHECK(places[0] == "/scratch/ompi.pi.sub.7/pid.42");
  CHECK(places[1] == "/scratch/prterun.pi.sub.42.7");
  CHECK(places[2] == "/scratch/ompi.pi.7/pid.42");
  CHECK(places[3] == "/scratch/prterun.pi.42.7");
  CHECK(mpirun_sessions({}, "h", 0, 1)[0] == "/tmp/ompi.h.0/pid.1");
}

TEST_CASE("the sessions of one mpirun go, those of others stay") {
  const TemporaryDirectory place;
  const Environment env = {{"TMPDIR", place.path()}};
  const std::string user = std::to_string(::geteuid());
  const std::string orte = "ompi." + own_host() + "." + user;
  place.write(orte + "/pid.41/0/0/file", "x");
  place.write(orte + "/pid.42/contact.txt", "x");
  place.write("prterun." + own_host() + ".41." + user + "/0", "x");
  place.write("elsewhere/kept", "x");
  place.link(orte + "/pid.43", place.path() + "/elsewhere");
  remove_mpirun_sessions(env, 41);
  CHECK_FALSE(fs::exists(place.at(orte + "/pid.41")));
  CHECK_FALSE(fs::exists(place.at("prterun." + own_host() + ".41." + user)));
  CHECK(fs::exists(place.at(orte + "/pid.42/contact.txt")));
  remove_mpirun_sessions(env, 43);  // a link, not ours to follow
  CHECK(fs::exists(place.at("elsewhere/kept")));
  fs::remove(place.at(orte + "/pid.43"));
  remove_mpirun_sessions(env, 42);
  CHECK_FALSE(fs::exists(place.at(orte)));
}
