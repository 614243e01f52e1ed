// SPDX-License-Identifier: Apache-2.0
// One function per decision. Pure.
#include "job/operator_contract.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "job/ssh_port.h"
#include "job/workload.h"

namespace muster {

namespace {

const std::string* env_value(const PodView& view, std::string_view name) {
  const std::string* value = find_env(view.env, name);
  return value == nullptr || value->empty() ? nullptr : value;
}

std::optional<int> small_number(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

// NAME-<replicated job>-<job index>-<pod index>, as JobSet names its pods.
struct JobSetName {
  std::string_view replicated_job;
  int pod_index = 0;
};

std::optional<JobSetName> parse_jobset_name(std::string_view hostname) {
  const std::vector<std::string_view> parts = split(first_label(hostname), '-');
  if (parts.size() < 4) return std::nullopt;
  const auto pod = small_number(parts.back());
  if (!pod || !small_number(parts[parts.size() - 2])) return std::nullopt;
  return JobSetName{parts[parts.size() - 3], *pod};
}

std::optional<Role> role_by_word(std::string_view word) {
  if (word == "launcher") return Role::kLauncher;
  if (word == "worker") return Role::kWorker;
  if (word == "manual") return Role::kManual;
  return std::nullopt;
}

// A role named by a variable; an unknown word is a finding.
bool role_from_env(const PodView& view, const char* name, Contract& contract) {
  const std::string* word = env_value(view, name);
  if (word == nullptr) return false;
  const auto role = role_by_word(to_lower(*word));
  if (!role) {
    contract.findings.push_back(
        {Severity::kWarning, "unknown_role",
         std::string(name) + " has a value that is not a role", *word,
         "use launcher or worker"});
    return false;
  }
  contract.role = *role;
  contract.role_reason = std::string(name) + " is " + *word;
  return true;
}

// LeaderWorkerSet numbers the pods of a group; Volcano gives every pod the
// names of all workers.
bool role_from_workload(const PodView& view, Contract& contract) {
  const Workload workload = detect_workload(view.env);
  const std::vector<HostEntry> workers = workload_hosts(view.env);
  if (workers.empty() || !view.hostfiles.empty()) return false;
  const bool leads =
      workload.manager == "lws"
          ? workload.index == 0
          : find_self(workers, view.hostname, view.own_addresses) < 0;
  contract.role = leads ? Role::kLauncher : Role::kWorker;
  contract.role_reason =
      workload.manager + " names " + std::to_string(workers.size()) +
      " workers, and this pod is " + (leads ? "none" : "one") + " of them";
  return true;
}

void decide_role(const PodView& view, const ContractFlags& flags,
                 Contract& contract) {
  if (flags.role) {
    contract.role = *flags.role;
    contract.role_reason = "the command line says so";
    return;
  }
  if (role_from_env(view, "MUSTER_ROLE", contract)) return;
  if (role_from_env(view, "K_MPI_JOB_ROLE", contract)) return;
  if (role_from_workload(view, contract)) return;
  const auto name = parse_jobset_name(view.hostname);
  if (name && name->replicated_job == "launcher") {
    contract.role = Role::kLauncher;
    contract.role_reason = "the host name is that of a JobSet's launcher";
  } else if (!view.hostfiles.empty()) {
    contract.role = Role::kLauncher;
    contract.role_reason =
        "only launchers have a hostfile: " + view.hostfiles[0].path;
  } else if (!view.key_dirs.empty()) {
    contract.role = Role::kWorker;
    contract.role_reason =
        "job keys are in " + view.key_dirs[0] + " and there is no hostfile";
  } else {
    contract.role = Role::kManual;
    contract.role_reason = "neither a role, a hostfile nor job keys are here";
  }
}

OperatorKind decide_operator(const PodView& view) {
  if (env_value(view, "K_MPI_JOB_ROLE") != nullptr) {
    return OperatorKind::kMpiOperator;
  }
  // Trainer's pods come from a JobSet, and it hands them job keys.
  const bool indexed = env_value(view, "JOB_COMPLETION_INDEX") != nullptr;
  const bool named = parse_jobset_name(view.hostname).has_value();
  if (named && (indexed || !view.key_dirs.empty())) {
    return OperatorKind::kTrainer;
  }
  return OperatorKind::kNone;
}

void decide_keys(const PodView& view, const ContractFlags& flags,
                 Contract& contract) {
  if (!flags.key_dir.empty()) {
    contract.key_dir = flags.key_dir;
    contract.key_dir_reason = "the command line says so";
  } else if (const std::string* dir = env_value(view, "MUSTER_KEY_DIR")) {
    contract.key_dir = *dir;
    contract.key_dir_reason = "MUSTER_KEY_DIR says so";
  } else if (!view.key_dirs.empty()) {
    contract.key_dir = view.key_dirs[0];
    contract.key_dir_reason = "a private key and authorized_keys are there";
  } else if (!view.locked_key_dirs.empty()) {
    contract.key_dir = view.locked_key_dirs[0];
    contract.key_dir_reason = "it is mounted there, not for this user's eyes";
    contract.findings.push_back(
        {Severity::kError, "job_key_unreadable",
         "the job's SSH key is mounted at " + contract.key_dir +
             ", where this user cannot read it",
         "",
         "set sshAuthMountPath to a directory such as /etc/mpi-ssh: the "
         "operator then makes the files readable for all users"});
  }
}

void decide_port(const PodView& view, const ContractFlags& flags,
                 Contract& contract) {
  if (flags.ssh_port > 0) {
    contract.ssh_port = flags.ssh_port;
    contract.ssh_port_reason = "the command line says so";
    return;
  }
  if (const std::string* text = env_value(view, "MUSTER_SSH_PORT")) {
    const auto port = parse_integer(*text);
    if (port && *port > 0 && *port < 65536) {
      contract.ssh_port = static_cast<int>(*port);
      contract.ssh_port_reason = "MUSTER_SSH_PORT says so";
      return;
    }
    contract.findings.push_back({Severity::kWarning, "bad_port",
                                 "MUSTER_SSH_PORT is not a port", *text,
                                 "give a number from 1 to 65535"});
  }
  for (const TextFile& file : view.ssh_configs) {
    if (const auto port = port_of_ssh_config(file.text)) {
      contract.ssh_port = *port;
      contract.ssh_port_reason = file.path + " says so";
      return;
    }
  }
  contract.ssh_port_reason = "the operators' images use it";
  contract.try_port_22 = true;
}

std::string family_hint(const PodView& view) {
  struct Hint {
    std::string_view variable;
    std::string_view family;
  };
  static constexpr std::array<Hint, 5> kHints = {{
      {"OMPI_MCA_orte_default_hostfile", "openmpi"},
      {"OMPI_MCA_orte_keep_fqdn_hostnames", "openmpi"},
      {"PRTE_MCA_prte_default_hostfile", "openmpi"},
      {"I_MPI_HYDRA_HOST_FILE", "intel"},
      {"HYDRA_HOST_FILE", "mpich"},
  }};
  for (const Hint& hint : kHints) {
    if (env_value(view, hint.variable) != nullptr) {
      return std::string(hint.family);
    }
  }
  return {};
}

void read_hostfile(const PodView& view, Contract& contract) {
  if (view.hostfiles.empty()) {
    std::vector<HostEntry> workers = workload_hosts(view.env);
    if (workers.empty() || contract.role != Role::kLauncher) return;
    contract.hostfile = Hostfile{std::move(workers), "the pod's variables"};
    return;
  }
  const TextFile& file = view.hostfiles[0];
  contract.hostfile_path = file.path;
  Result<Hostfile> parsed = parse_hostfile(file.text, file.path);
  if (!parsed) {
    if (parsed.error().code == "hostfile_empty") {
      contract.hostfile_pending = true;
      return;
    }
    const Error& error = parsed.error();
    contract.findings.push_back(
        {Severity::kError, error.code,
         error.where + ": " + error.what + ": " + error.why, file.path,
         error.hint});
    return;
  }
  contract.hostfile = *std::move(parsed);
  contract.self_index = find_own_entry(contract, contract.hostfile->hosts,
                                       view.hostname, view.own_addresses);
}

void decide_index(const PodView& view, Contract& contract) {
  if (const std::string* text = env_value(view, "JOB_COMPLETION_INDEX")) {
    contract.completion_index = small_number(*text).value_or(-1);
  } else if (const auto name = parse_jobset_name(view.hostname)) {
    contract.completion_index = name->pod_index;
  }
  contract.is_spare_launcher =
      contract.role == Role::kLauncher &&
      contract.operator_kind == OperatorKind::kTrainer &&
      contract.completion_index > 0;
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kLauncher:
      return "launcher";
    case Role::kWorker:
      return "worker";
    case Role::kManual:
      return "manual";
  }
  return "";
}

int find_self(const std::vector<HostEntry>& hosts, std::string_view hostname,
              const std::vector<std::string>& own_addresses) {
  const std::string own = to_lower(first_label(hostname));
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string& name = hosts[i].name;
    const bool by_name = !own.empty() && to_lower(first_label(name)) == own;
    const bool by_address =
        std::find(own_addresses.begin(), own_addresses.end(), name) !=
        own_addresses.end();
    if (by_name || by_address) return static_cast<int>(i);
  }
  return -1;
}

int find_own_entry(const Contract& contract,
                   const std::vector<HostEntry>& hosts,
                   std::string_view hostname,
                   const std::vector<std::string>& own_addresses) {
  const int self = find_self(hosts, hostname, own_addresses);
  if (self >= 0 || contract.role != Role::kLauncher ||
      contract.operator_kind != OperatorKind::kMpiOperator) {
    return self;
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string_view name = hosts[i].name;
    const std::string_view first = first_label(name);
    if (first.size() == name.size()) continue;
    const std::string job(first_label(name.substr(first.size() + 1)));
    if (first == job + "-launcher") return static_cast<int>(i);
  }
  return -1;
}

Contract decide_contract(const PodView& view, const ContractFlags& flags) {
  Contract contract;
  decide_role(view, flags, contract);
  contract.operator_kind = decide_operator(view);
  decide_keys(view, flags, contract);
  decide_port(view, flags, contract);
  contract.mpi_family_hint = family_hint(view);
  read_hostfile(view, contract);
  decide_index(view, contract);
  contract.runs_ranks =
      contract.role == Role::kWorker || contract.self_index >= 0;
  if (contract.role != Role::kManual && contract.key_dir.empty()) {
    contract.findings.push_back(
        {Severity::kWarning, "no_job_key",
         "no directory with a private key and authorized_keys was found",
         "looked in the usual homes and in every mount",
         "check sshAuthMountPath, or name the directory in MUSTER_KEY_DIR"});
  }
  return contract;
}

}  // namespace muster
