// SPDX-License-Identifier: Apache-2.0
#include "job/own_variables.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

const std::vector<std::string>& own_variables() {
  static const std::vector<std::string> kNames = {
      "MUSTER_AGENT",
      "MUSTER_AGENT_TAG",
      "MUSTER_ALLOW_ANY_COMMAND",
      "MUSTER_ALLOW_MPI_DAEMONS",
      "MUSTER_ALLOW_SKEW",
      "MUSTER_AUDIT_LOG",
      "MUSTER_BIND_TO",
      "MUSTER_BOOTSTRAP",
      "MUSTER_BUNDLE",
      "MUSTER_CONNECT_TIMEOUT",
      "MUSTER_CPUS",
      "MUSTER_EVENT",
      "MUSTER_EXCEPTION_TIMEOUT",
      "MUSTER_FABRIC_SITE",
      "MUSTER_FIPS",
      "MUSTER_FORCE",
      "MUSTER_GPU_BIND",
      "MUSTER_GPU_FACTS",
      "MUSTER_GRACE",
      "MUSTER_HANG_ACTION",
      "MUSTER_HANG_SIGNAL",
      "MUSTER_HANG_TIMEOUT",
      "MUSTER_HEARTBEAT",
      "MUSTER_HOLD_ON_FAILURE",
      "MUSTER_HOSTFILE",
      "MUSTER_IMAGE_ID",
      "MUSTER_KEY_DIR",
      "MUSTER_KNOWN_FILES",
      "MUSTER_LAUNCHER_SOCKET",
      "MUSTER_LAUNCH_ID",
      "MUSTER_LOG_DIR",
      "MUSTER_LOG_FOLD",
      "MUSTER_LOG_FORMAT",
      "MUSTER_LOG_LEVEL",
      "MUSTER_LOG_OVERFLOW",
      "MUSTER_LOG_RANKS",
      "MUSTER_LOG_ROTATE",
      "MUSTER_MESH",
      "MUSTER_METRICS_PORT",
      "MUSTER_NEAR_GPU",
      "MUSTER_NEAR_NIC",
      "MUSTER_NETWORK_SETTINGS",
      "MUSTER_ORPHAN_GRACE",
      "MUSTER_PMIX_LIBRARY",
      "MUSTER_PORT",
      "MUSTER_PORT_RANGE",
      "MUSTER_PROFILE",
      "MUSTER_RANK",
      "MUSTER_RANK_LEVEL",
      "MUSTER_RELEASE",
      "MUSTER_REPORT",
      "MUSTER_REPORT_JSON",
      "MUSTER_ROLE",
      "MUSTER_RULES",
      "MUSTER_RUN_DIR",
      "MUSTER_SCRIPT_SESSION",
      "MUSTER_SILENCE",
      "MUSTER_SLOTS_PER_NODE",
      "MUSTER_SSH_PORT",
      "MUSTER_SSH_USER",
      "MUSTER_START_TIMEOUT",
      "MUSTER_TERMINATION_LOG",
      "MUSTER_TIMEOUT",
      "MUSTER_TIMEOUT_ACTION",
      "MUSTER_TIMEOUT_SIGNAL",
      "MUSTER_TRANSPORT",
      "MUSTER_WORKER_GRACE",
  };
  return kNames;
}

std::vector<std::string> misspelled_variables(const Environment& env) {
  constexpr size_t kMostEdits = 2;
  const auto& names = own_variables();
  std::vector<std::string> sentences;
  for (const auto& [name, value] : env) {
    if (!name.starts_with("MUSTER_")) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto meant = nearest(name, names);
    if (!meant || edit_distance(name, *meant) > kMostEdits) continue;
    sentences.push_back("the environment variable " + name +
                        " is unknown to muster and has no effect; "
                        "did you mean " +
                        *meant + "?");
  }
  return sentences;
}

}  // namespace muster
