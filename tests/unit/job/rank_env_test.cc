// SPDX-License-Identifier: Apache-2.0
// One rank's place in every spelling, and what must be gone before it starts.
#include "job/rank_env.h"

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("a rank's variables") {
  RankPosition position;
  position.rank = 5;
  position.size = 8;
  position.local_rank = 1;
  position.local_size = 4;
  position.node = 1;
  position.master_addr = "w-0";
  position.master_port = "29500";
  CHECK(rank_environment(position, {}) ==
        Environment{{"RANK", "5"},
                    {"WORLD_SIZE", "8"},
                    {"LOCAL_RANK", "1"},
                    {"LOCAL_WORLD_SIZE", "4"},
                    {"NODE_RANK", "1"},
                    {"GROUP_RANK", "1"},
                    {"OMPI_COMM_WORLD_RANK", "5"},
                    {"OMPI_COMM_WORLD_SIZE", "8"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                    {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                    {"MPI_LOCALRANKID", "1"},
                    {"MPI_LOCALNRANKS", "4"},
                    {"MASTER_ADDR", "w-0"},
                    {"MASTER_PORT", "29500"}});
}

TEST_CASE("the user's rendezvous address wins") {
  RankPosition position;
  position.master_addr = "w-0";
  position.master_port = "1";
  const Environment env =
      rank_environment(position, {{"MASTER_ADDR", "x"}, {"MASTER_PORT", "2"}});
  CHECK(find_env(env, "MASTER_ADDR") == nullptr);
  CHECK(find_env(env, "MASTER_PORT") == nullptr);
}

TEST_CASE("leftovers of other launchers") {
  const Environment env = {
      {"PMIX_RANK", ""},       {"PMIX_MCA_gds", ""}, {"PMI_FD", ""},
      {"OMPI_MCA_ess", ""},    {"OMPI_MCA_btl", ""}, {"OMPI_MCA_orte_x", ""},
      {"PRTE_X", ""},          {"SLURM_JOBID", ""},  {"HYDRA_X", ""},
      {"MPI_LOCALRANKID", ""}, {"PATH", ""},         {"PMI", ""},
      {"I_MPI_PIN", ""},       {"FLUX_JOB_ID", ""},  {"RANK", ""},
      {"MASTER_ADDR", ""},     {"WORLD_SIZE", ""},   {"NODE_RANK", ""},
      {"PET_NODE_RANK", ""},   {"RANKS", ""}};
  CHECK(scrub_list(env) ==
        std::vector<std::string>{"PMIX_RANK", "PMI_FD", "OMPI_MCA_ess",
                                 "OMPI_MCA_orte_x", "PRTE_X", "SLURM_JOBID",
                                 "HYDRA_X", "MPI_LOCALRANKID", "FLUX_JOB_ID",
                                 "RANK", "WORLD_SIZE", "NODE_RANK"});
}

}  // namespace
}  // namespace muster
