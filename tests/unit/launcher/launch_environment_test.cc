// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/launch_environment.h"

#include <algorithm>

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

// MASTER_ADDR:MASTER_PORT as each rank finds them, natively and by mpirun.
std::vector<std::string> meetings(AgreementBed& bed) {
  const auto agreement = bed.agree();
  REQUIRE(agreement);
  std::vector<std::string> out;
  for (const NativeRank& rank :
       native_ranks(*agreement, bed.input.node_of_host, bed.options)) {
    Environment env;  // of its pod, then the launcher's word
    for (const auto& [name, value] :
         bed.input.nodes[rank.node].facts.environment) {
      if (std::find(rank.unset.begin(), rank.unset.end(), name) ==
          rank.unset.end()) {
        env.emplace_back(name, value);
      }
    }
    for (const auto& [name, value] : rank.env) set_env(env, name, value);
    out.push_back(value(env, "MASTER_ADDR") + ":" + value(env, "MASTER_PORT"));
  }
  const MpirunPlan plan = mpirun_plan(*agreement, bed.input.node_of_host,
                                      bed.options, "/run/m", "");
  CHECK(value(plan.rank_env[1], "MASTER_ADDR") + ":" +
            value(plan.rank_env[1], "MASTER_PORT") ==
        out[0]);
  return out;
}

TEST_CASE("ranks meet at a port that is free on rank 0's host") {
  AgreementBed bed("w-0 slots=1\nw-1 slots=1\n");
  bed.input.nodes[0].meeting_port = 20001;
  bed.input.nodes[1].meeting_port = 20002;
  bed.input.nodes[2].meeting_port = 20003;
  CHECK(meetings(bed) == std::vector<std::string>(2, "w-0:20002"));
}

TEST_CASE("a MASTER_PORT of the launcher's pod is the user's") {
  AgreementBed bed("w-0 slots=1\nw-1 slots=1\n");
  bed.input.nodes[1].meeting_port = 20002;
  bed.discovery.env.emplace_back("MASTER_PORT", "31000");
  CHECK(meetings(bed) == std::vector<std::string>(2, "w-0:31000"));
  // So it is where a worker has the same, as with --local.
  for (NodeSpec& node : bed.input.nodes) {
    node.facts.environment["MASTER_PORT"] = "31000";
  }
  CHECK(meetings(bed) == std::vector<std::string>(2, "w-0:31000"));
}

TEST_CASE("an operator's MASTER_ADDR and MASTER_PORT in the workers stay") {
  AgreementBed bed("w-0 slots=1\nw-1 slots=1\n");
  bed.input.nodes[1].facts.environment["MASTER_ADDR"] = "job-master-0";
  bed.input.nodes[1].facts.environment["MASTER_PORT"] = "23456";
  // Who has none is told where rank 0's pod is to be met.
  CHECK(meetings(bed) == std::vector<std::string>(2, "job-master-0:23456"));
  bed.input.nodes[2].facts.environment["MASTER_ADDR"] = "elsewhere";
  CHECK(meetings(bed)[1] == "elsewhere:23456");
}

TEST_CASE("a service called master names no port") {
  AgreementBed bed("w-0 slots=1\nw-1 slots=1\n");
  bed.input.nodes[1].meeting_port = 20002;
  for (NodeSpec& node : bed.input.nodes) {
    node.facts.environment["MASTER_PORT"] = "tcp://10.1.2.3:80";
  }
  CHECK(meetings(bed) == std::vector<std::string>(2, "w-0:20002"));
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
