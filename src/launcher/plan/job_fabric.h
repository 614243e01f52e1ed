// SPDX-License-Identifier: Apache-2.0
// The fabric policy applied to one job: what every pod's agent said of its
// network and GPUs, turned into variables for the ranks of each node.
// Refuses: unknown profiles; a job whose profile demands RDMA without it.
// Pure over its inputs; the site file is read by the caller.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "fabric/policy/policy.h"
#include "job/finding.h"

namespace muster {

struct FabricPod {
  std::string name;
  std::string facts_json;    // as the agent's collector wrote it; "": unknown
  std::string peer_address;  // under which the launcher reaches it
  std::string mpi_family;
  std::string mpi_version;
  Environment env;  // what its ranks would see without muster's settings
  bool host_network = false;
};

struct NetworkWish {
  std::string profile;
  std::vector<std::string> app_profiles;  // "APP=PROFILE", of an MPMD line
  std::string site_text;
  std::string site_path;
  bool force = false;  // what would refuse the job becomes a warning
};

struct JobFabric {
  std::string transport;             // planned: "RoCE", "TCP", "unknown", …
  std::string summary;               // one line for the log; "": nothing to say
  std::vector<Environment> env;      // by pod: to be set on top
  std::vector<std::string> kept;     // the user's own that were left, as text
  std::vector<std::string> reasons;  // "NCCL_NET=Socket: …", for --dry-run
  std::vector<Finding> findings;
};

// An error ends the launch ("fabric_refused", with --force in its hint) or, by
// `force`, becomes a warning.
Status refuse_unless_forced(Finding& finding, bool force);

// Error codes "usage", "unknown_profile", "site_file".
Result<FabricRequest> fabric_request(const NetworkWish& wish);

// Those, "facts_invalid" and "fabric_refused".
Result<JobFabric> plan_job_fabric(const std::vector<FabricPod>& pods,
                                  const NetworkWish& wish);
// Nothing is set: the user's own variables are held against what the pods
// have, and only what is found of them is in the answer.
Result<JobFabric> check_job_variables(const std::vector<FabricPod>& pods,
                                      const NetworkWish& wish);

}  // namespace muster
