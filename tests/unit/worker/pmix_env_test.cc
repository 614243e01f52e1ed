// SPDX-License-Identifier: Apache-2.0
// What a rank's environment says of its PMIx server and its node.
#include "worker/pmix/agent_pmix_env.h"

#include "../pmi/worlds.h"
#include "catch.h"
#include "worker/pmix/agent_pmix_job_data.h"

using namespace muster;

namespace {

Result<World> ranks_here(int count) {
  return test::make_world(count, {"0-" + std::to_string(count - 1)});
}

}  // namespace

TEST_CASE("Open MPI 4 is told to yield where ranks outnumber the CPUs") {
  const auto world = ranks_here(3);
  REQUIRE(world);
  const auto told = [&world](bool crowded) {
    const Environment env = pmix_rank_env(*world, 1, 4711, "/run/job", crowded);
    const std::string* value = find_env(env, "OMPI_MCA_mpi_oversubscribe");
    return value == nullptr ? "nothing" : *value;
  };
  CHECK(told(true) == "1");
  CHECK(told(false) == "nothing");
}

TEST_CASE(
    "Open MPI 4 is told, as by its mpirun, that it need not look around") {
  wire::JobMap map;
  map.size = 2;
  map.nodes = {{"a", "0-1"}};
  map.cpus = {"2-3", ""};
  const auto world = World::from(map);
  REQUIRE(world);
  const Environment bound = pmix_rank_env(*world, 0, 4711, "/run/job", false);
  const Environment free = pmix_rank_env(*world, 1, 4711, "/run/job", false);
  const char* cpus = "OMPI_MCA_orte_base_applied_binding";
  REQUIRE(find_env(bound, cpus) != nullptr);
  CHECK(*find_env(bound, cpus) == "2-3");
  CHECK(find_env(free, cpus) == nullptr);
  for (const Environment* env : {&bound, &free}) {
    CHECK(find_env(*env, "OMPI_MCA_orte_bound_at_launch") != nullptr);
    CHECK(find_env(*env, "OMPI_MCA_orte_externally_bound") == nullptr);
  }
}

TEST_CASE("more ranks than any machine has CPUs are too many, one is not") {
  const auto many = ranks_here(20'000);
  REQUIRE(many);
  CHECK(oversubscribed(*many));
  const auto one = ranks_here(1);
  REQUIRE(one);
  CHECK_FALSE(oversubscribed(*one));
}
