// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_env.h"

#include <pmix_version.h>

#include "base/text.h"
#include "job/cpu_list.h"
#include "worker/pmix/agent_pmix_programs.h"

namespace muster {

namespace {

// Open MPI 4 takes itself for a singleton unless it sees its own launcher (or
// one that it knows by name); without "orte" in the list it believes PMIx. The
// other two: its launcher has bound it correctly, or not at all. mpirun sets
// the last one; with "orte_externally_bound", which is for other launchers,
// every rank reads the whole machine's topology (13 ms of CPU with two CPUs,
// more with more), even if its program does not need one.
constexpr std::pair<const char*, const char*> kOpenMpi4[] = {
    {"OMPI_MCA_schizo", "^orte"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_orte_bound_at_launch", "1"}};
// The CPUs that it then reports.
constexpr const char* kOpenMpi4Cpus = "OMPI_MCA_orte_base_applied_binding";

constexpr std::string_view kUri = "PMIX_SERVER_URI";

// The source of Open MPI 4's MPI_INFO_ENV, and of values that programs read.
void add_programs(const World& world, int rank, Environment& out) {
  const ProgramLists programs = program_lists(world);
  out.emplace_back("OMPI_UNIVERSE_SIZE", std::to_string(world.size()));
  out.emplace_back("OMPI_NUM_APP_CTX", std::to_string(programs.count));
  out.emplace_back("OMPI_FIRST_RANKS", programs.first_ranks);
  out.emplace_back("OMPI_APP_CTX_NUM_PROCS", programs.sizes);
  const std::string where = program_directory(world, world.app_of(rank));
  if (!where.empty()) out.emplace_back("OMPI_MCA_initial_wdir", where);
}

}  // namespace

std::string pmix_server_nspace(const World& world) {
  return world.nspace() + "-agents";
}

Environment pmix_rank_env(const World& world, int rank, int port,
                          const std::string& directory, bool crowded) {
  const std::string uri = pmix_server_nspace(world) + "." +
                          std::to_string(world.own_node()) +
                          ";tcp4://127.0.0.1:" + std::to_string(port);
  Environment out = {{"PMIX_NAMESPACE", world.nspace()},
                     {"PMIX_RANK", std::to_string(rank)},
                     {"PMIX_SECURITY_MODE", "native"},
                     {"PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC"},
                     {"PMIX_GDS_MODULE", "hash"},
                     {"PMIX_SERVER_TMPDIR", directory},
                     {"PMIX_SYSTEM_TMPDIR", directory},
                     {"PMIX_HOSTNAME", world.host(world.own_node())},
                     {"PMIX_VERSION", std::to_string(PMIX_VERSION_MAJOR) + "." +
                                          std::to_string(PMIX_VERSION_MINOR)}};
  // A client takes the newest version that it knows for the server's.
#if PMIX_VERSION_MAJOR >= 5
  out.emplace_back(std::string(kUri) + "51", uri);
#endif
  for (const char* version : {"41", "4", "3", "2", "21"}) {
    out.emplace_back(std::string(kUri) + version, uri);
  }
  for (const auto& [name, value] : kPmixSettings) out.emplace_back(name, value);
  for (const auto& [name, value] : kOpenMpi4) out.emplace_back(name, value);
  add_programs(world, rank, out);
  if (const auto cpus = world.cpus_of(rank); !cpus.empty()) {
    out.emplace_back(kOpenMpi4Cpus, cpu_list_text(cpus));
  }
  // A rank that polls keeps the one it waits for from running. Open MPI 5 asks
  // PMIx for this, Open MPI 4 looks here alone.
  if (crowded) out.emplace_back("OMPI_MCA_mpi_oversubscribe", "1");
  return out;
}

int pmix_port(const Environment& env) {
  for (const auto& [name, value] : env) {
    if (!name.starts_with(kUri)) continue;
    const size_t colon = value.rfind(':');
    if (colon == std::string::npos) continue;
    const auto port = parse_integer(value.substr(colon + 1));
    if (port && *port > 0 && *port < 65536) return static_cast<int>(*port);
  }
  return 0;
}

}  // namespace muster
