// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/discovery.h"

#include <pwd.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/self_path.h"
#include "base/text.h"
#include "job/app_file.h"
#include "job/exit_codes.h"
#include "job/kubectl.h"
#include "job/line_hosts.h"
#include "job/mpi_parameters.h"
#include "job/pod_view.h"
#include "job/short_names.h"

namespace muster {

namespace {

constexpr Milliseconds kHostfilePoll{200};
constexpr Milliseconds kHostfileNote{5000};

// Sleeps until a signal or the end of the time.
std::optional<Error> sleep_unless_stopped(Milliseconds time,
                                          const LauncherSignals& signals,
                                          int& stopped_by) {
  sigset_t heeded;
  sigemptyset(&heeded);
  for (const int signal : signals.ending) sigaddset(&heeded, signal);
  for (const int signal : signals.forwarded) sigaddset(&heeded, signal);
  const timespec timeout{time.count() / 1000,
                         (time.count() % 1000) * 1'000'000};
  siginfo_t info{};
  const int signal = ::sigtimedwait(&heeded, &info, &timeout);
  if (signal < 0) return std::nullopt;
  if (std::find(signals.forwarded.begin(), signals.forwarded.end(), signal) !=
      signals.forwarded.end()) {
    note_unheard(signal);
    return std::nullopt;
  }
  stopped_by = signal;
  // The kubelet is outside of our pid namespace: its pid reads 0 here.
  const bool preempted = signal == SIGTERM && info.si_pid == 0;
  return Error{
      preempted ? "preempted" : "stopped",
      "stopped while waiting for the hostfile",
      signal_word(signal) + (preempted ? " from outside the pod" : " came"),
      {},
      {}};
}

// Operators mount the hostfile empty and fill it when pods exist.
Result<Contract> contract_with_hostfile(const LaunchOptions& options,
                                        PodViewOptions where,
                                        const LauncherSignals& signals,
                                        int& stopped_by) {
  ContractFlags flags;
  flags.role = Role::kLauncher;
  flags.key_dir = options.key_dir;
  flags.ssh_port = options.ssh_port;
  flags.hostfile = options.hostfile;
  where.hostfile = options.hostfile;
  const auto start = Clock::now();
  auto next_note = kHostfileNote;
  for (;;) {
    Contract contract = decide_contract(read_pod_view(where), flags);
    const auto waited =
        std::chrono::duration_cast<Milliseconds>(Clock::now() - start);
    if (!contract.hostfile_pending) return contract;
    if (waited.count() > options.timeouts.connect_ms) {
      return fail(Error{"hostfile_empty", "no host to start on",
                        "the hostfile is still empty after " +
                            human_duration_ms(waited.count()),
                        contract.hostfile_path,
                        "Check that the job has workers: `" +
                            list_pods(own_namespace()) + "`."});
    }
    if (waited > next_note) {
      log::info("waiting for the operator to fill {} since {}",
                contract.hostfile_path, human_duration_ms(waited.count()));
      next_note = waited + 2 * kHostfileNote;
    }
    if (auto stopped =
            sleep_unless_stopped(kHostfilePoll, signals, stopped_by)) {
      stopped->where = contract.hostfile_path;
      return fail(*std::move(stopped));
    }
  }
}

std::vector<JobHost> local_hosts(const LocalShape& shape) {
  std::vector<JobHost> hosts;
  for (int i = 0; i < shape.nodes; ++i) {
    JobHost host;
    host.entry.name = "node" + std::to_string(i);
    host.entry.slots = shape.slots;
    host.entry.slots_given = true;
    host.entry.line = i + 1;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<Hostfile> read_hostfile(const std::string& path) {
  auto text = read_file(path, 16 << 20);
  if (!text) {
    text.error().what = "cannot read the hostfile";
    text.error().hint =
        "check the path, and that the file is in the launcher's pod";
    return fail(text.error());
  }
  return parse_hostfile(*text, path);
}

// Where the hosts come from: options, the mpirun line, the operator.
Result<Hostfile> choose_hosts(const LaunchOptions& options,
                              const Discovery& found) {
  if (!options.hosts.empty()) return parse_host_list(options.hosts, "-H");
  const MpirunLine* line = found.line ? &*found.line : nullptr;
  if (options.hostfile.empty() && line != nullptr) {
    Hostfile hosts{hosts_of_line(*line), "-H"};
    if (!hosts.hosts.empty()) return hosts;
    if (!line->hostfiles.empty()) return read_hostfile(line->hostfiles[0]);
  }
  if (found.contract.hostfile) return *found.contract.hostfile;
  if (!found.contract.hostfile_path.empty()) {
    return read_hostfile(found.contract.hostfile_path);  // for its error
  }
  if (!options.hostfile.empty()) return read_hostfile(options.hostfile);
  // A pod without an operator: everything runs here.
  Hostfile alone;
  alone.source = "no hostfile: this machine alone";
  HostEntry self;
  self.name = found.hostname;
  self.line = 1;
  alone.hosts.push_back(self);
  return alone;
}

// The operator's hosts, which --hostfile hides from the contract.
std::optional<Hostfile> operators_hosts(const LaunchOptions& options,
                                        PodViewOptions where,
                                        const Discovery& found) {
  if (options.hostfile.empty()) return found.contract.hostfile;
  ContractFlags flags;
  flags.role = Role::kLauncher;
  where.hostfile.clear();
  return decide_contract(read_pod_view(where), flags).hostfile;
}

// Maps hosts of a command line to the names in the operator's hostfile.
void name_as_operator(const Hostfile& job, const std::string& own_name,
                      Hostfile& hosts) {
  constexpr int kMostTold = 8;
  if (job.source == hosts.source) return;
  int told = 0;
  for (const auto& [name, meant] : use_job_names(hosts.hosts, job.hosts)) {
    if (name == "localhost" || first_label(name) == own_name) continue;
    if (++told > kMostTold) {
      log::warn("{}: more hosts do not belong to this job", hosts.source);
      return;
    }
    log::warn("{}: {} is not a host of this job: {} does not have it{}",
              hosts.source, name, job.source,
              meant.empty() ? "" : "; did you mean " + meant + "?");
  }
}

// Expands a line whose programs are in a file.
Result<MpirunLine> read_line(const std::vector<std::string>& command) {
  auto line = parse_mpirun_line(command);
  if (!line || line->app_file.empty() || line->information) return line;
  const auto text = read_file(line->app_file, 16 << 20);
  if (!text) return fail(text.error());
  auto words = words_with_app_file(*line, *text);
  if (!words) return fail(words.error());
  return parse_mpirun_line(std::move(*words));
}

Status find_mpirun(const LaunchOptions& options, Discovery& found) {
  const std::string* path = find_env(found.env, "PATH");
  std::vector<std::string> names = {"mpirun", "mpiexec"};
  if (options.is_line) {
    const std::string& word = options.command[0];
    if (word.find('/') != std::string::npos) {
      found.mpirun = word;
      return {};
    }
    names = {word};
  }
  found.mpirun = find_foreign_program(names, path != nullptr ? *path : "");
  if (found.mpirun.empty() && options.is_line) {
    return fail(Error{"exe_not_found",
                      "cannot run " + options.command[0],
                      "no such program on PATH beside muster's own",
                      {},
                      "Install an MPI in the launcher's image, or start "
                      "without one: --bootstrap pmix."});
  }
  return {};
}

// The files that Open MPI reads parameters from, the most important one last:
// those of mca_base_param_files, else the user's and the installation's.
std::vector<std::string> parameter_files(const Discovery& found) {
  std::vector<std::string> out;
  for (const char* name :
       {"OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files"}) {
    const std::string* const listed = find_env(found.env, name);
    if (listed == nullptr) continue;
    for (const std::string_view part : split(*listed, ':')) {
      for (const std::string_view path : split(part, ',')) {
        out.insert(out.begin(), std::string(path));
      }
    }
    return out;
  }
  std::error_code missing;  // then the path stays as it is
  const auto mpirun =
      std::filesystem::weakly_canonical(found.mpirun, missing).parent_path();
  const std::string prefix = mpirun.parent_path().string();
  if (prefix == "/usr")
    out.emplace_back("/etc/openmpi/openmpi-mca-params.conf");
  out.push_back(prefix + "/etc/openmpi-mca-params.conf");
  out.push_back(prefix + "/etc/prte-mca-params.conf");
  if (const std::string* home = find_env(found.env, "HOME")) {
    out.push_back(*home + "/.openmpi/mca-params.conf");
    out.push_back(*home + "/.prte/mca-params.conf");
  }
  return out;
}

void find_parameters(Discovery& found) {
  constexpr size_t kMostBytes = 1 << 20;
  for (const std::string& path : parameter_files(found)) {
    const auto text = read_file(path, kMostBytes);
    if (!text) continue;  // most images have none
    const auto more = parse_parameter_file(*text, path);
    found.parameters.insert(found.parameters.end(), more.begin(), more.end());
  }
  const auto variables = parameters_of(found.env);
  found.parameters.insert(found.parameters.end(), variables.begin(),
                          variables.end());
  if (!found.line) return;
  apply_parameters(found.parameters, *found.line);
  apply_time_limit(found.env, *found.line);
}

// Looks the user up once: a directory service may be slow.
std::string login_name(const LaunchOptions& options) {
  if (!options.ssh_user.empty()) return options.ssh_user;
  const passwd* entry = ::getpwuid(::geteuid());
  // sshd-lite takes any name; a real sshd needs an existing one.
  return entry != nullptr ? entry->pw_name : "root";
}

Status find_job_keys(const LaunchOptions& options, Discovery& found) {
  const bool remote = std::any_of(found.hosts.begin(), found.hosts.end(),
                                  [](const JobHost& h) { return !h.is_self; });
  if (options.local || !options.exec_transport.empty() || !remote) return {};
  if (found.contract.key_dir.empty()) {
    return fail(Error{"key_missing",
                      "no ssh key to reach the workers with",
                      "no mounted directory holds an id_rsa or ssh-privatekey",
                      {},
                      "Mount the job's Secret (mpi-operator and Trainer do "
                      "that), or pass --key-dir."});
  }
  auto keys = find_keys(found.contract.key_dir);
  if (!keys) return fail(keys.error());
  for (const std::string& note : keys->notes) log::warn("{}", note);
  found.keys = std::move(*keys);
  found.ssh_user = login_name(options);
  return {};
}

// A frame's 16 bits say which agent it is for, and 0 is the launcher's.
Status few_enough(const Hostfile& hosts) {
  constexpr size_t kMostHosts = 65'535;
  if (hosts.hosts.size() <= kMostHosts) return {};
  return fail(Error{"hostfile_syntax", "too many hosts",
                    "there are " + std::to_string(hosts.hosts.size()) +
                        ", at most 65535 are possible",
                    hosts.source, "split the job"});
}

// "localhost" and this pod's own name in one list: its ranks would be numbered
// twice from 0, and no transport leads from here to here.
Status one_name_for_this_pod(const std::vector<JobHost>& hosts) {
  const JobHost* first = nullptr;
  for (const JobHost& host : hosts) {
    if (!host.is_self) continue;
    if (first != nullptr) {
      return fail(Error{"same_pod",
                        first->entry.name + " and " + host.entry.name +
                            " are two names of this pod",
                        "both are where the launcher runs",
                        {},
                        "name it once, with the sum of its slots"});
    }
    first = &host;
  }
  return {};
}

}  // namespace

Result<Discovery> discover(const LaunchOptions& options,
                           const LauncherSignals& signals, int& stopped_by) {
  block_signals(signals);
  Discovery found;
  const PodViewOptions where = own_pod_options();
  found.env = where.env;
  found.hostname = where.hostname;
  if (options.is_line) {
    auto line = read_line(options.command);
    if (!line) return fail(line.error());
    found.line = std::move(*line);
  }
  if (auto mpirun = find_mpirun(options, found); !mpirun) {
    return fail(mpirun.error());
  }
  find_parameters(found);
  if (options.local) {
    found.hosts = local_hosts(*options.local);
    found.hosts_source = "--local";
    return found;
  }
  auto contract = contract_with_hostfile(options, where, signals, stopped_by);
  if (!contract) return fail(contract.error());
  found.contract = std::move(*contract);
  if (found.contract.is_spare_launcher) {
    return fail(Error{"spare_launcher",
                      "nothing to launch here",
                      "completion index " +
                          std::to_string(found.contract.completion_index) +
                          " is not 0: another pod of this Job launches",
                      {},
                      {}});
  }
  auto hosts = choose_hosts(options, found);
  if (!hosts) return fail(hosts.error());
  if (auto few = few_enough(*hosts); !few) return fail(few.error());
  if (const auto job = operators_hosts(options, where, found)) {
    name_as_operator(*job, found.hostname, *hosts);
    if (found.line) {
      for (MpirunApp& app : found.line->apps) {
        use_job_names(app.hosts, job->hosts);
      }
    }
  }
  const int self = find_own_entry(found.contract, hosts->hosts, where.hostname,
                                  where.own_addresses);
  found.hosts_source = hosts->source;
  for (size_t i = 0; i < hosts->hosts.size(); ++i) {
    const bool is_self =
        static_cast<int>(i) == self || hosts->hosts[i].name == "localhost";
    found.hosts.push_back({std::move(hosts->hosts[i]), is_self});
  }
  if (auto named = one_name_for_this_pod(found.hosts); !named) {
    return fail(named.error());
  }
  if (auto keys = find_job_keys(options, found); !keys) {
    return fail(keys.error());
  }
  return found;
}

}  // namespace muster
