// SPDX-License-Identifier: Apache-2.0
// The role of this pod for its operator, from what is visible in it:
// mpi-operator names the role and nothing else, Trainer names nothing. Every
// decision carries its reason. Never asks DNS: a pod's own name often does not
// resolve yet. Pure; job/pod_view.h reads the pod.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/spawn.h"
#include "job/finding.h"
#include "job/hostfile.h"

namespace muster {

struct TextFile {
  std::string path;  // as seen in the pod
  std::string text;
};

struct PodView {
  Environment env;
  std::string hostname;
  std::vector<std::string> own_addresses;  // without loopback
  std::vector<std::string> key_dirs;       // that hold keys, best first
  // Mounts with a key that this user cannot read.
  std::vector<std::string> locked_key_dirs;
  std::vector<TextFile> hostfiles;    // that exist, best first
  std::vector<TextFile> ssh_configs;  // that exist, best first
  bool is_pid1 = false;
};

enum class Role { kLauncher, kWorker, kManual };
enum class OperatorKind { kNone, kMpiOperator, kTrainer };
std::string_view role_name(Role role);

// The values of the command line, which win over all that the pod shows.
struct ContractFlags {
  std::optional<Role> role;
  std::string key_dir;
  int ssh_port = 0;
  std::string hostfile;  // its text must be the first of PodView::hostfiles
};

struct Contract {
  Role role = Role::kManual;
  std::string role_reason;
  OperatorKind operator_kind = OperatorKind::kNone;
  std::string key_dir;  // empty: none
  std::string key_dir_reason;
  int ssh_port = 2222;
  std::string ssh_port_reason;
  bool try_port_22 = false;   // 2222 is only the default: 22 is worth a try
  std::string hostfile_path;  // empty: none
  std::optional<Hostfile> hostfile;  // nullopt: none, empty, or in error
  // The operator mounted a hostfile that is still empty: wait for it.
  bool hostfile_pending = false;
  std::string mpi_family_hint;  // "openmpi", "mpich", "intel", ""
  int completion_index = -1;    // of an Indexed Job; -1: unknown
  // Another pod of the launcher's Job launches.
  bool is_spare_launcher = false;
  int self_index = -1;  // own entry in the hostfile; -1: not in it
  bool runs_ranks = false;
  std::vector<Finding> findings;
};

Contract decide_contract(const PodView& view, const ContractFlags& flags = {});

// The entry that is this pod: same first label as `hostname`, or an address of
// its own. -1: none.
int find_self(const std::vector<HostEntry>& hosts, std::string_view hostname,
              const std::vector<std::string>& own_addresses);

// The same for a pod of this role and operator: with hostNetwork a launcher has
// its node's name, and mpi-operator's entry for it is JOB-launcher.JOB.….
int find_own_entry(const Contract& contract,
                   const std::vector<HostEntry>& hosts,
                   std::string_view hostname,
                   const std::vector<std::string>& own_addresses);

}  // namespace muster
