// SPDX-License-Identifier: Apache-2.0
// Phase 4: what was asked and what the pods are, turned into what will be
// started where, with which environment and through which backend.
// Refuses, each with the fix in the sentence: software that cannot work
// together, more ranks than slots, mpirun lines it cannot take over.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "job/env_merge.h"
#include "job/node_facts.h"
#include "job/plan.h"
#include "job/skew.h"
#include "job/slots.h"
#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"
#include "launcher/plan/job_fabric.h"
#include "launcher/plan/mpi_settings.h"
#include "launcher/plan/rank_binding.h"

namespace muster {

struct NodeSpec {
  std::string host;
  NodeFacts facts;
  std::string peer_address;  // under which the launcher reaches it
  int meeting_port = 0;      // free there for MASTER_PORT; 0: not known
};

struct AgreementInput {
  const LaunchOptions* options = nullptr;
  const Discovery* discovery = nullptr;
  // By fleet node: 0 is the launcher's own pod.
  std::vector<NodeSpec> nodes;
  // For hosts[i]: its fleet node.
  std::vector<uint16_t> node_of_host;
  std::string agent;
  std::string run_directory;  // for the hostfile and the relay's socket
  std::string interface;      // of this pod, towards the workers
  std::string site_text;      // fabric site file; empty: none
  std::string site_path;
  bool uses_sessions = false;  // the program names MPI_Session_init
  bool spawns = false;         // … or MPI_Comm_spawn
};

// For ranks without one in their own environment: rank 0's pod's, or rank 0's
// host and a port that is free there.
struct MeetingPlace {
  std::string address;  // MASTER_ADDR
  std::string port;     // MASTER_PORT
};

struct Agreement {
  Bootstrap bootstrap = Bootstrap::kPmix;
  std::string bootstrap_reason;
  Plan plan;                // node indices are indices of hosts
  JobBinding binding;       // of the ranks as planned
  int expected_ranks = -1;  // -1: only the program knows (a script)
  // By PlannedRank::app; what a line gives to each program, with values.
  std::vector<AppSpec> apps;
  std::vector<SlotsDecision> slots;
  std::vector<EnvMerge> env;  // by fleet node
  std::vector<std::vector<std::string>> unset;
  MeetingPlace meeting;
  std::vector<Finding> findings;
  JobFabric fabric;  // its variables are in env already
  // mpirun only:
  std::vector<std::string> words;         // the first is mpirun's file
  std::string called;                     // mpirun's argv[0]
  std::vector<std::string> search_paths;  // of the pods in which daemons start
  std::vector<std::string> dropped;
  MpiSettings mpi;
  std::string hostfile_path;  // in the run directory
  std::string hostfile_text;
};

// How the software of all pods, the launcher's own among them, compares.
SkewReport compare_software(const AgreementInput& input);

// Error codes: "not_enough_slots", "usage", "exe_not_found",
// "software_skew", "no_hosts".
Result<Agreement> agree(const AgreementInput& input);

}  // namespace muster
