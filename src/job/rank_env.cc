// SPDX-License-Identifier: Apache-2.0
// Tables of names. Pure.
#include "job/rank_env.h"

#include <algorithm>
#include <array>

namespace muster {

Environment rank_environment(const RankPosition& position,
                             const Environment& given) {
  const std::string rank = std::to_string(position.rank);
  const std::string size = std::to_string(position.size);
  const std::string local_rank = std::to_string(position.local_rank);
  const std::string local_size = std::to_string(position.local_size);
  const std::string node = std::to_string(position.node);
  Environment env = {
      {"RANK", rank},
      {"WORLD_SIZE", size},
      {"LOCAL_RANK", local_rank},
      {"LOCAL_WORLD_SIZE", local_size},
      {"NODE_RANK", node},
      {"GROUP_RANK", node},
      {"OMPI_COMM_WORLD_RANK", rank},
      {"OMPI_COMM_WORLD_SIZE", size},
      {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size},
      // Open MPI's "node rank" counts ranks on a node, not nodes.
      {"OMPI_COMM_WORLD_NODE_RANK", local_rank},
      {"MPI_LOCALRANKID", local_rank},
      {"MPI_LOCALNRANKS", local_size},
  };
  if (find_env(given, "MASTER_ADDR") == nullptr &&
      !position.master_addr.empty()) {
    env.emplace_back("MASTER_ADDR", position.master_addr);
  }
  if (find_env(given, "MASTER_PORT") == nullptr &&
      !position.master_port.empty()) {
    env.emplace_back("MASTER_PORT", position.master_port);
  }
  return env;
}

bool names_a_rank(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "RANK",           "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
      "NODE_RANK",      "GROUP_RANK", "ROLE_RANK",  "ROLE_WORLD_SIZE",
      "PMIX_RANK",      "PMI_RANK",   "PMI_SIZE",   "MPI_LOCALRANKID",
      "MPI_LOCALNRANKS"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         name.starts_with("OMPI_COMM_WORLD_") ||
         name.starts_with("MV2_COMM_WORLD_");
}

bool is_launcher_leftover(std::string_view name) {
  if (names_a_rank(name)) return true;
  if (name.starts_with("PMIX_MCA_")) return false;
  static constexpr std::array<std::string_view, 22> kPrefixes = {
      "PMIX_",         "PMI_",          "PRTE_",
      "OMPI_COMM_",    "OMPI_APP_CTX_", "OMPI_FIRST_RANKS",
      "OMPI_UNIVERSE", "OMPI_NUM_APP",  "OMPI_MCA_ess",
      "OMPI_MCA_orte", "OMPI_MCA_plm",  "OMPI_MCA_schizo",
      "HYDRA_",        "HYDI_",         "I_MPI_HYDRA_",
      "MPI_LOCAL",     "MPIRUN_RSH",    "SLURM_",
      "FLUX_",         "JSM_",          "PALS_",
      "ALPS_"};
  return std::any_of(
      kPrefixes.begin(), kPrefixes.end(),
      [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> scrub_list(const Environment& env) {
  std::vector<std::string> names;
  for (const auto& [name, value] : env) {
    if (is_launcher_leftover(name)) names.push_back(name);
  }
  return names;
}

}  // namespace muster
