// SPDX-License-Identifier: Apache-2.0
// Phase 1: finds this pod's role for its operator and the hosts of the job.
// Examines the pod, waits for a hostfile that its operator has not filled yet,
// and reads keys. Decides nothing that needs a worker. Blocks, before any loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "job/hostfile.h"
#include "job/mpirun_line.h"
#include "job/operator_contract.h"
#include "launcher/model/launcher_signals.h"
#include "launcher/options/options.h"
#include "sshd-lite/keys.h"

namespace muster {

struct JobHost {
  HostEntry entry;
  bool is_self = false;  // this pod: its ranks need no transport
};

struct Discovery {
  Contract contract;
  Environment env;       // of the launcher
  std::string hostname;  // gethostname(), needs no DNS
  std::vector<JobHost> hosts;
  std::string hosts_source;
  std::optional<JobKeys> keys;  // nullopt: not needed (local, exec)
  std::string ssh_user;         // with keys
  std::optional<MpirunLine> line;
  // Of variables and files, the most important one last.
  std::vector<MpiParameter> parameters;
  std::string mpirun;  // the named or the first real mpirun; "": none
};

// Error codes: those of the hostfile, "no_hosts", "key_missing",
// "key_unusable", "usage", "same_pod" (this pod, twice), "spare_launcher"
// (nothing to do here), and while it waits for the hostfile "stopped" and
// "preempted" (TERM from outside the pod): then `stopped_by` is the signal.
// Blocks `signals`, and leaves them blocked.
Result<Discovery> discover(const LaunchOptions& options,
                           const LauncherSignals& signals, int& stopped_by);

}  // namespace muster
