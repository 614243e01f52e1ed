// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/facts_question.h"

#include "agreement_bed.h"
#include "catch.h"

namespace muster {
namespace {

using test::AgreementBed;

std::string value(const Environment& env, const char* name) {
  const std::string* found = find_env(env, name);
  return found == nullptr ? "(unset)" : *found;
}

TEST_CASE("agents learn which program runs, and by what it finds libraries") {
  AgreementBed bed;
  bed.options.command = {"python3", "train.py"};
  bed.options.cwd = "/job";
  bed.discovery.mpirun = "/usr/bin/mpirun";
  bed.discovery.env = {
      {"PATH", "/usr/bin"}, {"PYTHONPATH", "/here"}, {"HF_TOKEN", "secret"}};
  bed.options.env.push_back({"LD_LIBRARY_PATH", "/opt/nccl/lib"});
  const auto asked = wire::facts_request_from_json(
      wire::to_json(facts_request(bed.options, bed.discovery)));
  REQUIRE(asked);
  CHECK(asked->mpirun == "/usr/bin/mpirun");
  CHECK(asked->argv == bed.options.command);
  CHECK(asked->cwd == "/job");
  CHECK(value(asked->env, "PYTHONPATH") == "/here");
  CHECK(value(asked->env, "LD_LIBRARY_PATH") == "/opt/nccl/lib");
  CHECK(value(asked->env, "PATH") == "(unset)");  // each pod has its own
  CHECK(value(asked->env, "HF_TOKEN") == "(unset)");
}

TEST_CASE("of an mpirun line the first program is asked for") {
  AgreementBed bed;
  bed.use_line({"mpirun", "-np", "2", "-x", "LD_PRELOAD=/a.so", "-wdir", "/w",
                "python3", "a.py", ":", "-np", "1", "./b"});
  const auto asked = facts_request(bed.options, bed.discovery);
  CHECK(asked.argv == std::vector<std::string>{"python3", "a.py"});
  CHECK(asked.cwd == "/w");
  CHECK(value(asked.env, "LD_PRELOAD") == "/a.so");
}

TEST_CASE("an empty question names no program") {
  const auto asked = wire::facts_request_from_json("");
  REQUIRE(asked);
  CHECK(asked->argv.empty());
  CHECK_FALSE(wire::facts_request_from_json("/usr/bin/mpirun"));
}

}  // namespace
}  // namespace muster
