// SPDX-License-Identifier: Apache-2.0
// The options of a worker pod's pid 1. Plain values.
#pragma once

#include <string>

#include "base/loop.h"
#include "sshd-lite/keys.h"

namespace muster {

inline constexpr int kDefaultSshPort = 2222;

struct PodOptions {
  std::string address;  // "": every interface
  int port = kDefaultSshPort;
  KeyFiles keys;
  std::string agent;  // absolute path of muster-agent
  bool allow_any_command = false;
  bool allow_mpi_daemons = true;
  bool fips = false;      // only FIPS-approved algorithms; also if the platform
                          // says so
  std::string audit_log;  // a file, "none", or "" for stderr
  bool log_json = false;  // stderr's format
  bool release_on_success = false;     // leave with 0 after a good job
  Milliseconds orphan_grace{1800000};  // 0: stay for ever
  Milliseconds stop_grace{20000};      // SIGTERM to SIGKILL
  std::string mesh;  // whose proxy goes with the pod; empty: none
  std::string termination_log = "/dev/termination-log";
};

}  // namespace muster
