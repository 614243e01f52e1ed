// SPDX-License-Identifier: Apache-2.0
// Each manager's variables as its pods and tasks have them.
#include "job/workload.h"

#include "catch.h"
#include "job/operator_contract.h"

using namespace muster;

TEST_CASE("every manager is told by its own variable") {
  struct Case {
    Environment env;
    std::string manager;
    bool starts_ranks;
    int index, size, local;
  };
  const std::vector<Case> cases = {
      {{}, "", false, -1, -1, -1},
      {{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}},
       "slurm",
       true,
       3,
       8,
       1},
      {{{"FLUX_TASK_RANK", "0"},
        {"FLUX_JOB_SIZE", "2"},
        {"FLUX_TASK_LOCAL_ID", "0"}},
       "flux",
       true,
       0,
       2,
       0},
      {{{"TORCHELASTIC_RUN_ID", "x"},
        {"RANK", "5"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_RANK", "1"},
        {"SLURM_PROCID", "0"}},
       "torchrun",
       true,
       5,
       8,
       1},
      {{{"LWS_LEADER_ADDRESS", "a-0.a.ns"},
        {"LWS_WORKER_INDEX", "2"},
        {"LWS_GROUP_SIZE", "4"}},
       "lws",
       false,
       2,
       4,
       -1},
      {{{"VC_TASK_INDEX", "1"}}, "volcano", false, 1, -1, -1},
      {{{"JOB_COMPLETION_INDEX", "7"}}, "indexed job", false, 7, -1, -1},
      {{{"SLURM_PROCID", "-4"}, {"SLURM_NTASKS", "many"}},
       "slurm",
       true,
       -1,
       -1,
       -1},
      {{{"SLURM_PROCID", ""}}, "", false, -1, -1, -1},
  };
  for (const Case& one : cases) {
    const Workload found = detect_workload(one.env);
    INFO(one.manager);
    CHECK(found.manager == one.manager);
    CHECK(found.starts_ranks == one.starts_ranks);
    CHECK(found.index == one.index);
    CHECK(found.size == one.size);
    CHECK(found.local_index == one.local);
  }
}

TEST_CASE("the workers of a LeaderWorkerSet's group") {
  const auto hosts =
      workload_hosts({{"LWS_LEADER_ADDRESS", "mpi-0.mpi.default"},
                      {"LWS_WORKER_INDEX", "0"},
                      {"LWS_GROUP_SIZE", "3"}});
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].name == "mpi-0-1.mpi.default");
  CHECK(hosts[1].name == "mpi-0-2.mpi.default");
  CHECK(workload_hosts({{"LWS_LEADER_ADDRESS", "mpi-0"}}).empty());
}

TEST_CASE("the workers of a Volcano job") {
  const auto hosts = workload_hosts(
      {{"VC_TASK_INDEX", "0"},
       {"VC_MPIMASTER_HOSTS", "j-mpimaster-0.j"},
       {"VC_MPIWORKER_HOSTS", "j-mpiworker-0.j,j-mpiworker-1.j"}});
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[1].name == "j-mpiworker-1.j");
}

TEST_CASE("roles in pods of LeaderWorkerSet and Volcano") {
  PodView view;
  view.key_dirs = {"/etc/mpi-ssh"};
  view.hostname = "mpi-0";
  view.env = {{"LWS_LEADER_ADDRESS", "mpi-0.mpi.default"},
              {"LWS_WORKER_INDEX", "0"},
              {"LWS_GROUP_SIZE", "3"}};
  const Contract leader = decide_contract(view);
  CHECK(leader.role == Role::kLauncher);
  REQUIRE(leader.hostfile);
  CHECK(leader.hostfile->hosts.size() == 2);
  view.env[1].second = "1";
  view.hostname = "mpi-0-1";
  CHECK(decide_contract(view).role == Role::kWorker);
  view.env = {{"VC_TASK_INDEX", "0"},
              {"VC_WORKER_HOSTS", "j-worker-0.j,j-worker-1.j"}};
  view.hostname = "j-master-0";
  CHECK(decide_contract(view).role == Role::kLauncher);
  view.hostname = "j-worker-1";
  CHECK(decide_contract(view).role == Role::kWorker);
}
