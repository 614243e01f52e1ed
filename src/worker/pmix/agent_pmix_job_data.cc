// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_job_data.h"

#include <algorithm>

#include "job/cpu_list.h"
#include "worker/facts/cpu_places.h"
#include "worker/pmix/agent_pmix_programs.h"
#include "worker/rank/crowded.h"

namespace muster {

namespace {

std::string comma_list(const std::vector<int>& ranks) {
  std::string out;
  for (const int rank : ranks) {
    if (!out.empty()) out += ',';
    out += std::to_string(rank);
  }
  return out;
}

// "h0,h1" and "0,1;2,3" for the nodes that run ranks: libpmix would read an
// empty field as a rank.
Status add_maps(const PmixLibrary& library, const World& world,
                PmixInfos& out) {
  std::string hosts;
  std::string ranks;
  for (int node = 0; node < world.nodes(); ++node) {
    if (world.ranks_of(node).empty()) continue;
    if (!hosts.empty()) {
      hosts += ',';
      ranks += ';';
    }
    hosts += world.host(node);
    ranks += comma_list(world.ranks_of(node));
  }
  char* regex = nullptr;
  char* ppn = nullptr;
  if (!pmix_ok(library.generate_regex(hosts.c_str(), &regex)) ||
      !out.add_regex(library, PMIX_NODE_MAP, regex) ||
      !pmix_ok(library.generate_ppn(ranks.c_str(), &ppn)) ||
      !out.add_regex(library, PMIX_PROC_MAP, ppn)) {
    return fail(Error{"no_pmix",
                      "no PMIx server for the ranks of this pod",
                      "libpmix does not take the list of hosts",
                      {},
                      {}});
  }
  return {};
}

// Position among the nodes that run ranks, as in the maps.
int map_index(const World& world, int node) {
  int index = 0;
  for (int i = 0; i < node; ++i) index += world.ranks_of(i).empty() ? 0 : 1;
  return index;
}

// The CPUs of this node's ranks, by local rank.
struct Bindings {
  std::vector<std::vector<int>> cpus;
  CpuPlaces places;
  std::vector<int> package_ranks;
};

Bindings bindings_of(const World& world) {
  Bindings out;
  std::vector<int> bound;
  for (const int rank : world.own_ranks()) {
    out.cpus.push_back(world.cpus_of(rank));
    bound.insert(bound.end(), out.cpus.back().begin(), out.cpus.back().end());
  }
  std::sort(bound.begin(), bound.end());
  bound.erase(std::unique(bound.begin(), bound.end()), bound.end());
  if (!bound.empty()) out.places = read_cpu_places("", bound);
  out.package_ranks = package_ranks(out.places, out.cpus);
  return out;
}

// In the form of Open MPI's own launchers, without the "hwloc:" of the
// standard, which Open MPI does not read.
void add_binding(const Bindings& bindings, int local_rank, PmixInfos& out) {
  const auto index = static_cast<size_t>(local_rank);
  const std::vector<int>& cpus = bindings.cpus[index];
  if (cpus.empty()) return;
  out.add_text(PMIX_CPUSET, cpu_list_text(cpus));
  out.add_text(PMIX_LOCALITY_STRING, locality_text(bindings.places, cpus));
  if (bindings.package_ranks[index] >= 0) {
    out.add_u16(PMIX_PACKAGE_RANK, bindings.package_ranks[index]);
  }
}

// The command and directory of a program: for its ranks, and for a client that
// asks about the job.
void add_program(const World& world, int app, PmixInfos& out) {
  const std::string command = program_command(world, app);
  if (!command.empty()) out.add_text(PMIX_APP_ARGV, command);
  const std::string where = program_directory(world, app);
  if (!where.empty()) out.add_text(PMIX_WDIR, where);
}

void add_rank(const World& world, int rank, const std::string& directory,
              const Bindings& bindings, PmixInfos& out) {
  const int node = world.own_node();
  const int app = world.app_of(rank);
  out.add_rank(PMIX_RANK, rank);  // must come first (libpmix before 6.1.1)
  out.add_u32(PMIX_APPNUM, app);
  out.add_rank(PMIX_GLOBAL_RANK, rank);
  out.add_rank(PMIX_APP_RANK, rank - first_rank_of_program(world, app));
  out.add_rank(PMIX_APPLDR, first_rank_of_program(world, app));
  out.add_u16(PMIX_LOCAL_RANK, world.local_rank(rank));
  out.add_u16(PMIX_NODE_RANK, world.local_rank(rank));
  out.add_text(PMIX_HOSTNAME, world.host(node));
  out.add_u32(PMIX_NODEID, map_index(world, node));
  out.add_bool(PMIX_SPAWNED, false);
  out.add_u32(PMIX_REINCARNATION, 0);
  out.add_text(PMIX_PROCDIR, directory);
  add_program(world, app, out);
  add_binding(bindings, world.local_rank(rank), out);
}

void add_job(const World& world, const std::string& directory, PmixInfos& out) {
  const std::vector<int>& own = world.own_ranks();
  int nodes = 0;
  int most = 0;
  for (int node = 0; node < world.nodes(); ++node) {
    const int ranks = static_cast<int>(world.ranks_of(node).size());
    nodes += ranks > 0 ? 1 : 0;
    most = std::max(most, ranks);
  }
  out.add_text(PMIX_JOBID, world.nspace());
  out.add_u32(PMIX_MAX_PROCS, world.size());
  out.add_u32(PMIX_UNIV_SIZE, world.size());
  const ProgramLists programs = program_lists(world);
  out.add_u32(PMIX_JOB_NUM_APPS, programs.count);
  out.add_text("OMPI_APP_SIZES", programs.sizes);  // as Open MPI 5 asks
  out.add_text("OMPI_FIRST_RANKS", programs.first_ranks);
  out.add_u32(PMIX_NUM_NODES, nodes);
  out.add_u32(PMIX_LOCAL_SIZE, static_cast<int64_t>(own.size()));
  out.add_u32(PMIX_NODE_SIZE, static_cast<int64_t>(own.size()));
  out.add_text(PMIX_LOCAL_PEERS, comma_list(own));
  out.add_rank(PMIX_LOCALLDR, own.front());
  out.add_text(PMIX_HOSTNAME, world.host(world.own_node()));
  out.add_u32(PMIX_NODEID, map_index(world, world.own_node()));
  out.add_text(PMIX_TMPDIR, directory);
  out.add_text(PMIX_NSDIR, directory);
  // The directory goes with the agent, whatever a rank leaves in it.
  out.add_bool(PMIX_TDIR_RMCLEAN, true);
  if (oversubscribed(world)) out.add_bool(PMIX_NODE_OVERSUBSCRIBED, true);
  out.add_text(PMIX_RM_NAME, "muster");
  out.add_text(PMIX_RM_VERSION, MUSTER_VERSION);
  add_program(world, world.app_of(own.front()), out);
}

// If all ranks are ours, libpmix ends fences by itself once it has lost a
// missing rank, and, when it loses two at a time, twice, with a tracker that it
// has freed (4.2 to 6.1, ptl_base_sendrecv.c). It leaves them to us, so that
// each ends once, if it takes the job for one rank larger than it is. It counts
// by the first size that it gets; ranks believe the last, and get the data of
// each rank that libpmix counts, which must not be empty.
void add_size(const World& world, PmixJobData& out) {
  out.job.add_u32(PMIX_JOB_SIZE, world.size() + (world.all_here() ? 1 : 0));
  if (!world.all_here()) return;
  out.true_size.add_u32(PMIX_JOB_SIZE, world.size());
  out.job.add_array(PMIX_JOB_INFO_ARRAY, out.true_size);
  out.nobody.add_rank(PMIX_RANK, world.size());
  out.nobody.add_u32(PMIX_REINCARNATION, 0);
  out.own.add_array(PMIX_PROC_DATA, out.nobody);
}

}  // namespace

bool oversubscribed(const World& world) {
  return crowded(static_cast<int>(world.own_ranks().size()));
}

Result<std::unique_ptr<PmixJobData>> pmix_job_data(
    const PmixLibrary& library, const World& world,
    const std::string& directory) {
  auto out = std::make_unique<PmixJobData>();
  if (auto added = add_maps(library, world, out->job); !added) {
    return tl::unexpected(added.error());
  }
  add_job(world, directory, out->job);
  add_size(world, *out);
  const Bindings bindings = bindings_of(world);
  for (const int rank : world.own_ranks()) {
    out->ranks.push_back(std::make_unique<PmixInfos>());
    add_rank(world, rank, directory, bindings, *out->ranks.back());
    out->own.add_array(PMIX_PROC_DATA, *out->ranks.back());
  }
  return out;
}

}  // namespace muster
