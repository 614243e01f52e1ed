// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/plan_text.h"

#include <nlohmann/json.hpp>

#include "agreement_bed.h"
#include "catch.h"
#include "launcher/plan/launch_environment.h"

namespace muster {
namespace {

using test::AgreementBed;

std::vector<NodeFacts> facts_of(const AgreementBed& bed) {
  std::vector<NodeFacts> out;
  for (const NodeSpec& node : bed.input.nodes) out.push_back(node.facts);
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a plan for people: hosts, start, ranks with their reasons") {
  AgreementBed bed("w-0 slots=2\nw-1 slots=1\nw-2 slots=4\n");
  bed.options.np = 3;
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const std::string text = plan_text(*agreement, bed.discovery, facts_of(bed));
  CHECK(contains(text, "hosts      3 from /etc/mpi/hostfile\n"));
  CHECK(contains(text, "start      native: "));
  CHECK(contains(text, "w-0  ranks 0-1  (2 slots: "));
  CHECK(contains(text, "w-1  rank 2  (1 slot: "));
  CHECK(contains(text, "w-2  no rank  (4 slots: "));
  CHECK(contains(text, "none in the launcher's image"));
}

TEST_CASE("ranks that are not in a row are listed") {
  AgreementBed bed;
  bed.options.map_by = "node";
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  CHECK(contains(plan_text(*agreement, bed.discovery, facts_of(bed)),
                 "w-0  ranks 0,2"));
}

TEST_CASE("an mpirun line is shown as a shell would take it") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-np", "2", "--hostfile", "/mine", "./app", "a b"});
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const std::string text = plan_text(*agreement, bed.discovery, facts_of(bed));
  CHECK(contains(text, "'a b'"));
  CHECK(contains(text, "replaced   --hostfile /mine"));
  CHECK(contains(text, "openmpi 4.1.4 (/usr/bin/mpirun)"));
}

TEST_CASE("the same as JSON") {
  AgreementBed bed;
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const auto json = nlohmann::json::parse(
      plan_json(*agreement, bed.discovery, facts_of(bed)), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["plan"] == 1);
  CHECK(json["bootstrap"] == "pmix");
  CHECK(json["nodes"][1]["name"] == "w-1");
  CHECK(json["nodes"][1]["ranks"] == nlohmann::json{2, 3});
  CHECK(json["nodes"][1]["launcher"] == false);
  CHECK(json["findings"].is_array());
}

TEST_CASE("variables with their origin; secrets hidden") {
  AgreementBed bed;
  bed.discovery.env.emplace_back("WANDB_MODE", "off line");
  bed.discovery.env.emplace_back("HF_TOKEN", "hunter2hunter2");
  bed.discovery.env.emplace_back("RANK", "7");
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  bed.options.env = {{"RANK", "5"}};
  const auto ranks = native_ranks(*agreement, {1, 2}, bed.options);
  const std::string text =
      environment_text(*agreement, {"l", "w-0", "w-1"}, ranks);
  CHECK(contains(text, "w-1:\n"));
  CHECK(contains(text, "  WANDB_MODE='off line'  # "));
  CHECK_FALSE(contains(text, "hunter2"));
  CHECK(contains(text, "HF_TOKEN=[masked]"));
  CHECK_FALSE(contains(text, "  PATH="));
  // What ranks get, whatever the pod and the command line say.
  CHECK(contains(text, "  RANK=2, 3  # set for each rank\n"));
  CHECK(contains(text, "  WORLD_SIZE=4  # set for each rank\n"));
  CHECK_FALSE(contains(text, "RANK=7"));
  CHECK_FALSE(contains(text, "RANK=5"));
  const std::string by_mpirun =
      environment_text(*agreement, {"l", "w-0", "w-1"}, {});
  CHECK_FALSE(contains(by_mpirun, "RANK=7"));
  CHECK(contains(by_mpirun, "# RANK, WORLD_SIZE, "));
}

}  // namespace
}  // namespace muster
