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
  CHECK(asked->first.argv == bed.options.command);
  CHECK(asked->first.cwd == "/job");
  CHECK(value(asked->first.env, "PYTHONPATH") == "/here");
  CHECK(value(asked->first.env, "LD_LIBRARY_PATH") == "/opt/nccl/lib");
  CHECK(value(asked->first.env, "PATH") == "(unset)");  // each pod has its own
  CHECK(value(asked->first.env, "HF_TOKEN") == "(unset)");
}

TEST_CASE("of an mpirun line all programs are asked for, in order") {
  AgreementBed bed;
  bed.use_line({"mpirun", "-np", "2", "-x", "LD_PRELOAD=/a.so", "-wdir", "/w",
                "python3", "a.py", ":", "-np", "1", "./b"});
  const auto asked = facts_request(bed.options, bed.discovery);
  CHECK(asked.first.argv == std::vector<std::string>{"python3", "a.py"});
  CHECK(asked.first.cwd == "/w");
  CHECK(value(asked.first.env, "LD_PRELOAD") == "/a.so");
  REQUIRE(asked.more.size() == 1);
  const auto& second = asked.more[0];
  CHECK(second.argv == std::vector<std::string>{"./b"});
  CHECK(second.cwd != "/w");
  const auto again = wire::facts_request_from_json(wire::to_json(asked));
  REQUIRE(again);
  CHECK(again->more[0].argv == second.argv);
}

TEST_CASE("a local launch without a profile needs no driver of a GPU") {
  AgreementBed bed;
  bed.options.command = {"./a"};
  bed.options.profile = "auto";
  const auto drivers = [&bed] {
    return wire::facts_request_from_json(
               wire::to_json(facts_request(bed.options, bed.discovery)))
        ->drivers;
  };
  CHECK(drivers());
  bed.options.local = LocalShape{2, 1};
  CHECK_FALSE(drivers());
  bed.options.profile = "rdma";
  CHECK(drivers());
  bed.options.profile = "auto";
  bed.options.bundle_directory = "/tmp/bundle";
  CHECK(drivers());
}

TEST_CASE("an empty question names no program") {
  const auto asked = wire::facts_request_from_json("");
  REQUIRE(asked);
  CHECK(asked->first.argv.empty());
  CHECK_FALSE(wire::facts_request_from_json("/usr/bin/mpirun"));
}

}  // namespace
}  // namespace muster
