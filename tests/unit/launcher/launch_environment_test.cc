// SPDX-License-Identifier: Apache-2.0
#include "launcher/launch_environment.h"

#include "agreement_bed.h"
#include "catch.h"

namespace muster {
namespace {

using test::AgreementBed;

std::string value(const Environment& env, const char* name) {
  const std::string* found = find_env(env, name);
  return found == nullptr ? "(unset)" : *found;
}

TEST_CASE("each natively started rank knows its place") {
  AgreementBed bed;
  bed.options.cwd = "/data";
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const auto ranks =
      native_ranks(*agreement, bed.input.node_of_host, bed.options);
  REQUIRE(ranks.size() == 4);
  CHECK(ranks[3].rank == 3);
  CHECK(ranks[3].node == 2);
  CHECK(ranks[3].cwd == "/data");
  CHECK(value(ranks[3].env, "RANK") == "3");
  CHECK(value(ranks[3].env, "WORLD_SIZE") == "4");
  CHECK(value(ranks[3].env, "LOCAL_RANK") == "1");
  CHECK(value(ranks[3].env, "NODE_RANK") == "1");
  CHECK(value(ranks[3].env, "MASTER_ADDR") == "w-0");
  CHECK(value(ranks[3].env, "MASTER_PORT") == "29500");
}

TEST_CASE("the user's MASTER_ADDR wins") {
  AgreementBed bed;
  bed.options.env.push_back({"MASTER_ADDR", "elsewhere"});
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const auto ranks =
      native_ranks(*agreement, bed.input.node_of_host, bed.options);
  CHECK(value(ranks[0].env, "MASTER_ADDR") == "elsewhere");
}

TEST_CASE("an mpirun line started natively keeps its variables and directory") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.options.bootstrap = Bootstrap::kPmix;
  bed.discovery.env.emplace_back("FROM_HERE", "yes");
  bed.use_line({"mpirun", "-np", "1", "-x", "A=1", "-x", "FROM_HERE", "-wdir",
                "/w", "./a", ":", "-np", "1", "-x", "B=2", "./b"});
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  REQUIRE(agreement->bootstrap == Bootstrap::kPmix);
  const auto ranks =
      native_ranks(*agreement, bed.input.node_of_host, bed.options);
  REQUIRE(ranks.size() == 2);
  CHECK(value(ranks[0].env, "A") == "1");
  CHECK(value(ranks[0].env, "FROM_HERE") == "yes");
  CHECK(ranks[0].cwd == "/w");
  CHECK(value(ranks[0].env, "B") == "(unset)");
  CHECK(value(ranks[1].env, "B") == "2");
  CHECK(ranks[1].cwd.empty());
}

TEST_CASE("a host without ranks has no place among the nodes") {
  AgreementBed bed("w-0 slots=1\nw-1 slots=1\nw-2 slots=1\n");
  bed.options.np = 2;
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const MpirunPlan plan = mpirun_plan(*agreement, bed.input.node_of_host,
                                      bed.options, "/run/m", "");
  REQUIRE(plan.rank_env.size() == 4);
  CHECK(value(plan.rank_env[0], "NODE_RANK") == "(unset)");  // the launcher
  CHECK(value(plan.rank_env[1], "NODE_RANK") == "0");
  CHECK(value(plan.rank_env[2], "GROUP_RANK") == "1");
  CHECK(value(plan.rank_env[3], "NODE_RANK") == "(unset)");
}

TEST_CASE("mpirun gets its settings, daemons theirs") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-np", "2", "./app"});
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const MpirunPlan plan = mpirun_plan(*agreement, bed.input.node_of_host,
                                      bed.options, "/run/m", "");
  CHECK(plan.program == agreement->words[0]);
  CHECK(plan.argv[0] == "mpirun");
  CHECK(std::equal(plan.argv.begin() + 1, plan.argv.end(),
                   agreement->words.begin() + 1, agreement->words.end()));
  CHECK(plan.source == "mpirun");
  CHECK(plan.socket_path == "/run/m/launcher.sock");
  CHECK(value(plan.env, "MUSTER_LAUNCHER_SOCKET") == plan.socket_path);
  CHECK(value(plan.env, "OMPI_MCA_plm") == "rsh");
  CHECK(value(plan.env, "MUSTER_SCRIPT_SESSION") == "(unset)");
  CHECK(value(plan.node_env[1], "OMPI_MCA_orte_fork_agent") != "(unset)");
  CHECK(value(plan.node_env[1], "OMPI_MCA_plm_rsh_agent") == "(unset)");
  CHECK(plan.wants_stdin);
}

TEST_CASE("a script gets PATH and the session, and is what runs") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.options.once = true;
  bed.options.command = {"./run.sh", "x"};
  bed.options.stdin_mode = StdinMode::kNone;
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const MpirunPlan plan = mpirun_plan(*agreement, bed.input.node_of_host,
                                      bed.options, "/run/m", "/dropin:/bin");
  CHECK(plan.argv == bed.options.command);
  CHECK(plan.source == "script");
  CHECK(value(plan.env, "PATH") == "/dropin:/bin");
  CHECK(value(plan.env, "MUSTER_SCRIPT_SESSION") ==
        "/run/m/script-session.json");
  CHECK_FALSE(plan.wants_stdin);
}

TEST_CASE("emulated nodes are kept apart, the user's choice of transport not") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.options.local = LocalShape{2, 2};
  bed.options.env.push_back({"OMPI_MCA_pml", "ucx"});
  bed.use_line({"mpirun", "-np", "2", "./app"});
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  const MpirunPlan plan = mpirun_plan(*agreement, bed.input.node_of_host,
                                      bed.options, "/run/m", "");
  CHECK(value(plan.node_env[1], "TMPDIR") == "/run/m/node1");
  CHECK(value(plan.node_env[2], "TMPDIR") == "/run/m/node2");
  CHECK(value(plan.node_env[1], "OMPI_MCA_btl") == "self,tcp");
  CHECK(value(plan.node_env[1], "OMPI_MCA_pml") == "ucx");
}

}  // namespace
}  // namespace muster
