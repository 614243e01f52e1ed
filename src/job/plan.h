// SPDX-License-Identifier: Apache-2.0
// JobSpec (the request) and Plan (the place of every rank), and the planner
// between them. Rank order is hostfile order. Refuses: more ranks than slots
// without oversubscription, missing hosts or programs; each refusal shows the
// arithmetic and the remedy. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/env_request.h"
#include "job/finding.h"
#include "job/hostfile.h"

namespace muster {

constexpr int kMaxRanks = 1 << 20;

enum class MapBy { kSlot, kNode, kPerNode };
enum class Bootstrap { kAuto, kPmix, kMpirun };
// The word of --bootstrap and of reports.
constexpr const char* bootstrap_name(Bootstrap bootstrap) {
  return bootstrap == Bootstrap::kMpirun ? "mpirun"
         : bootstrap == Bootstrap::kPmix ? "pmix"
                                         : "auto";
}
enum class StdinMode { kRankZero, kAll, kNone };

struct Timeouts {  // milliseconds; 0: none
  int64_t connect_ms = 300'000;
  int64_t start_ms = 60'000;  // start to MPI_Init
  int64_t run_ms = 0;         // time limit of the job
  int64_t heartbeat_ms = 2'000;
  int64_t silence_ms = 12'000;
  int64_t grace_ms = 5'000;
};

struct AppHost {
  int node = 0;   // index into the job's hosts
  int slots = 0;  // for this program there; 0: all of the host's
};

struct AppSpec {
  std::vector<std::string> argv;
  std::optional<int> np;  // needed where there are several programs
  std::vector<EnvRequest> env;
  std::string cwd;                  // empty: JobSpec::cwd
  std::vector<AppHost> hosts = {};  // its own, in order; empty: all
};

struct JobSpec {
  std::optional<int> np;         // nullopt: every slot
  std::vector<HostEntry> hosts;  // as in the hostfile or -H
  int slots_per_node = 0;        // --slots-per-node; 0: not given
  MapBy map_by = MapBy::kSlot;
  int per_node = 0;  // kPerNode: ranks on each node
  bool oversubscribe = false;
  bool in_turns = false;        // as Hydra: unlimited slots, the hosts in turn
  std::vector<EnvRequest> env;  // for all programs
  std::string cwd;              // empty: the worker's own
  std::vector<AppSpec> apps;    // one, or several (MPMD)
  Bootstrap bootstrap = Bootstrap::kAuto;
  Timeouts timeouts;
  StdinMode stdin_mode = StdinMode::kRankZero;
  std::string log_format;     // "", "text", "json", "raw"
  std::string log_directory;  // empty: none
  bool mpi = false;           // declared an MPI job
  bool allow_skew = false;
};

struct PlannedHost {
  std::string name;
  int slots = 1;
  bool is_launcher = false;  // ranks there are started without a transport
};

struct PlannedNode {
  std::string name;
  int slots = 1;
  int first_rank = -1;  // its lowest rank; -1: it runs none
  std::vector<int> ranks;
  bool is_launcher = false;
};

struct PlannedRank {
  int rank = 0;
  int node = 0;  // index into Plan::nodes
  int local_rank = 0;
  int app = 0;  // index into JobSpec::apps
  std::vector<std::string> argv;
};

struct Plan {
  std::vector<PlannedNode> nodes;  // every host, also those without ranks
  std::vector<PlannedRank> ranks;  // by rank
  std::vector<Finding> findings;
};

// Error codes: "no_hosts", "no_program", "not_enough_slots", "usage".
Result<Plan> make_plan(const JobSpec& spec,
                       const std::vector<PlannedHost>& hosts);

}  // namespace muster
