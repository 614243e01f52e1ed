// SPDX-License-Identifier: Apache-2.0
// Reads a pod and fills PodView: files under a root directory that tests may
// choose, the rest from the caller or this process. Reads only; skips missing
// and unreadable files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/spawn.h"
#include "job/operator_contract.h"

namespace muster {

struct PodViewOptions {
  std::string root;  // in front of every path; "" is the real one
  Environment env;
  std::string hostname;
  std::vector<std::string> own_addresses;
  int uid = 0;  // whose home in /etc/passwd counts
  bool is_pid1 = false;
  std::string hostfile;     // --hostfile: the only candidate if set
  std::string sshd_config;  // sshd -f FILE: the first candidate
};

// This process as it is: environment, gethostname(), interface addresses.
PodViewOptions own_pod_options();

// Candidates, in this order. Keys: $HOME/.ssh, the home in /etc/passwd,
// /root/.ssh, /home/mpiuser/.ssh, /tmp/ssh, then every mount point. Hostfiles:
// OMPI_MCA_orte_default_hostfile, PRTE_MCA_prte_default_hostfile,
// I_MPI_HYDRA_HOST_FILE, HYDRA_HOST_FILE, /etc/mpi/hostfile.
PodView read_pod_view(const PodViewOptions& options);

// The first of key_dirs, else of locked_key_dirs: an unusable key deserves its
// own sentence later. Needs only `env` and `uid`, and reads no more.
std::optional<std::string> best_key_dir(const PodViewOptions& options);

}  // namespace muster
