// SPDX-License-Identifier: Apache-2.0
// The option table. Sources: `mpirun --help all` of Open MPI 4.1.4, the help
// files of PRRTE 3.0 and `mpiexec --help` of MPICH 4.0.2. The rows that only
// Intel MPI, MVAPICH2 or Horovod have were not checked against a copy of them.
// Where two launchers give one name different values, each has its row; Open
// MPI's comes first.
#include "job/mpirun_options.h"

#include <array>

namespace muster {

namespace {

using enum OptionMeaning;

constexpr LauncherSet kO = kOpenMpiLauncher;
constexpr LauncherSet kI = kIntelLauncher;
constexpr LauncherSet kH = kHydraLauncher | kIntelLauncher;
constexpr LauncherSet kR = kMpirunRshLauncher;
constexpr LauncherSet kV = kHorovodLauncher;
constexpr LauncherSet kOH = kO | kH;

constexpr OptionRow kCommon[] = {
    {"np", 1, kAnyLauncher, kProcesses},
    {"n", 1, kOH | kR, kProcesses},
    {"hostfile", 1, kAnyLauncher, kHostfile},
    {"machinefile", 1, kOH, kHostfile},
    {"H", 1, kO | kV, kHosts},
    {"host", 1, kOH, kHosts},
    {"hosts", 1, kH | kV, kHosts},
    {"wdir", 1, kOH, kDirectory},
    {"wd", 1, kO, kDirectory},
    {"path", 1, kOH, kOther},
    {"bind-to", 1, kOH, kOther},
    {"map-by", 1, kOH, kMapBy},
    {"rank-by", 1, kOH, kOther},
    {"timeout", 1, kOH, kTimeout},
    {"verbose", 0, kAnyLauncher, kOther},
    {"v", 0, kOH | kR, kOther},
    {"help", 0, kAnyLauncher, kInformation},
    {"h", 0, kAnyLauncher, kInformation},
    {"version", 0, kAnyLauncher, kInformation},
};

constexpr OptionRow kOpenMpi[] = {
    {"c", 1, kO, kProcesses},
    {"N", 1, kO, kPerNode},
    {"npernode", 1, kO, kPerNode},
    {"pernode", 0, kO, kOnePerNode},
    {"npersocket", 1, kO, kOther},
    {"ppr", 1, kO, kOther},
    {"x", 1, kO, kEnv},
    {"mca", 2, kO, kParameter},
    {"gmca", 2, kO, kParameter},
    {"omca", 2, kO, kParameter},
    {"gomca", 2, kO, kParameter},
    {"prtemca", 2, kO, kParameter},
    {"gprtemca", 2, kO, kParameter},
    {"pmixmca", 2, kO, kOther},
    {"gpmixmca", 2, kO, kOther},
    {"allow-run-as-root", 0, kO, kAllowRoot},
    {"default-hostfile", 1, kO, kHostfile},
    {"add-hostfile", 1, kO, kOther},
    {"add-host", 1, kO, kOther},
    {"rankfile", 1, kO, kRankfile},
    {"rf", 1, kO, kRankfile},
    {"app", 1, kO, kAppFile},
    {"bynode", 0, kO, kByNode},
    {"byslot", 0, kO, kOther},
    {"bycore", 0, kO, kOther},
    {"bind-to-core", 0, kO, kOther},
    {"bind-to-socket", 0, kO, kOther},
    {"oversubscribe", 0, kO, kOversubscribe},
    {"nooversubscribe", 0, kO, kOther},
    {"nolocal", 0, kO, kOther},
    {"novm", 0, kO, kOther},
    {"tag-output", 0, kO, kTagOutput},
    {"timestamp-output", 0, kO, kOther},
    {"output-filename", 1, kO, kOther},
    {"output-directory", 1, kO, kOther},
    {"output-proctable", 0, kO, kOther},
    {"output", 1, kO, kOther},
    {"display", 1, kO, kOther},
    {"display-map", 0, kO, kOther},
    {"display-devel-map", 0, kO, kOther},
    {"display-diffable-map", 0, kO, kOther},
    {"display-allocation", 0, kO, kOther},
    {"display-devel-allocation", 0, kO, kOther},
    {"display-topo", 0, kO, kOther},
    {"report-bindings", 0, kO, kOther},
    {"report-events", 1, kO, kOther},
    {"report-pid", 1, kO, kOther},
    {"report-uri", 1, kO, kOther},
    {"report-child-jobs-separately", 0, kO, kOther},
    {"report-state-on-timeout", 0, kO, kOther},
    {"get-stack-traces", 0, kO, kOther},
    {"stdin", 1, kO, kStdin},
    {"stream-buffering", 1, kO, kOther},
    {"merge-stderr-to-stdout", 0, kO, kOther},
    {"launch-agent", 1, kO, kOther},
    {"leave-session-attached", 0, kO, kRemoteShell},
    {"prefix", 1, kO, kOther},
    {"noprefix", 0, kO, kOther},
    {"preload-binary", 0, kO, kOther},
    {"s", 0, kO, kOther},
    {"preload-files", 1, kO, kOther},
    {"am", 1, kO, kOther},
    {"tune", 1, kO, kOther},
    {"cartofile", 1, kO, kOther},
    {"cf", 1, kO, kOther},
    {"cpu-list", 1, kO, kOther},
    {"cpu-set", 1, kO, kOther},
    {"cpus-per-proc", 1, kO, kOther},
    {"cpus-per-rank", 1, kO, kOther},
    {"use-hwthread-cpus", 0, kO, kOther},
    {"use-regexp", 0, kO, kOther},
    {"continuous", 0, kO, kOther},
    {"disable-recovery", 0, kO, kOther},
    {"enable-recovery", 0, kO, kOther},
    {"max-restarts", 1, kO, kOther},
    {"max-vm-size", 1, kO, kOther},
    {"with-ft", 1, kO, kOther},
    {"d", 0, kO, kOther},
    {"debug", 0, kO, kOther},
    {"debug-devel", 0, kO, kOther},
    {"debug-daemons", 0, kO, kOther},
    {"debug-daemons-file", 0, kO, kOther},
    {"debugger", 1, kO, kOther},
    {"do-not-launch", 0, kO, kInformation},
    {"do-not-resolve", 0, kO, kOther},
    {"dvm", 0, kO, kOther},
    {"dvm-uri", 1, kO, kOther},
    {"enable-instant-on-support", 0, kO, kOther},
    {"fwd-mpirun-port", 0, kO, kOther},
    {"forward-signals", 1, kO, kOther},
    {"hnp", 1, kO, kOther},
    {"index-argv-by-rank", 0, kO, kOther},
    {"keepalive", 1, kO, kOther},
    {"ompi-server", 1, kO, kOther},
    {"personality", 1, kO, kOther},
    {"pset", 1, kO, kOther},
    {"quiet", 0, kO, kOther},
    {"q", 0, kO, kOther},
    {"runtime-options", 1, kO, kOther},
    {"set-cwd-to-session-dir", 0, kO, kOther},
    {"set-sid", 0, kO, kOther},
    {"show-progress", 0, kO, kOther},
    {"spawn-timeout", 1, kO, kOther},
    {"stop-in-app", 0, kO, kOther},
    {"stop-in-init", 0, kO, kOther},
    {"stop-on-exec", 0, kO, kOther},
    {"tmpdir", 1, kO, kOther},
    {"tv", 0, kO, kOther},
    {"V", 0, kO, kInformation},
    {"xml", 0, kO, kOther},
    {"xml-file", 1, kO, kOther},
    {"xterm", 1, kO, kOther},
};

constexpr OptionRow kHydra[] = {
    {"f", 1, kH, kHostfile},
    {"genv", 2, kH, kGlobalEnvPair},
    {"env", 2, kH, kEnvPair},
    {"genvlist", 1, kH, kGlobalEnvNames},
    {"envlist", 1, kH, kEnvNames},
    {"genvall", 0, kH, kOther},
    {"genvnone", 0, kH, kOther},
    {"envall", 0, kH, kOther},
    {"envnone", 0, kH, kOther},
    {"envuser", 0, kH, kOther},
    {"genvuser", 0, kH, kOther},
    {"envexcl", 1, kH, kOther},
    {"genvexcl", 1, kH, kOther},
    {"ppn", 1, kH, kPerNode},
    {"launcher", 1, kH, kRemoteShell},
    {"launcher-exec", 1, kH, kRemoteShell},
    {"bootstrap", 1, kH, kRemoteShell},
    {"bootstrap-exec", 1, kH, kRemoteShell},
    {"bootstrap-exec-args", 1, kI, kRemoteShell},
    {"rmk", 1, kH, kRemoteShell},
    {"enable-x", 0, kH, kOther},
    {"disable-x", 0, kH, kOther},
    {"configfile", 1, kH, kAppFile},
    {"iface", 1, kH, kOther},
    {"topolib", 1, kH, kOther},
    {"binding", 1, kH, kOther},
    {"membind", 1, kH, kOther},
    {"demux", 1, kH, kOther},
    {"info", 0, kH, kInformation},
    {"print-all-exitcodes", 0, kH, kOther},
    {"prepend-rank", 0, kH, kTagOutput},
    {"l", 0, kH, kTagOutput},
    {"prepend-pattern", 1, kH, kOther},
    {"outfile-pattern", 1, kH, kOther},
    {"errfile-pattern", 1, kH, kOther},
    {"outfile", 1, kH, kOther},
    {"errfile", 1, kH, kOther},
    {"nameserver", 1, kH, kOther},
    {"disable-auto-cleanup", 0, kH, kOther},
    {"disable-hostname-propagation", 0, kH, kOther},
    {"enable-hostname-propagation", 0, kH, kOther},
    {"order-nodes", 1, kH, kOther},
    {"localhost", 1, kH, kOther},
    {"usize", 1, kH, kOther},
    {"pmi-port", 0, kH, kOther},
    {"skip-launch-node", 0, kH, kOther},
    {"gpus-per-proc", 1, kH, kOther},
    {"gpu-subdevs-per-proc", 1, kH, kOther},
    {"profile", 0, kH, kOther},
    {"arch", 1, kH, kOther},
    {"soft", 1, kH, kOther},
    {"umask", 1, kH, kOther},
    {"V", 0, kH, kOther},
    {"s", 1, kI, kStdin},
    {"perhost", 1, kI, kPerNode},
    {"grr", 1, kI, kPerNode},
    {"rr", 0, kI, kByNode},
    {"cleanup", 0, kI, kOther},
    {"nocleanup", 0, kI, kOther},
    {"tmpdir", 1, kI, kOther},
    {"trace", 0, kI, kOther},
    {"t", 0, kI, kOther},
    {"trace-imbalance", 0, kI, kOther},
    {"aps", 0, kI, kOther},
    {"check-mpi", 0, kI, kOther},
    {"check_mpi", 0, kI, kOther},
    {"gtool", 1, kI, kOther},
    {"gtoolfile", 1, kI, kOther},
    {"ilp64", 0, kI, kOther},
    {"dapl", 0, kI, kOther},
    {"ofi", 0, kI, kOther},
    {"shm", 0, kI, kOther},
    {"nolocal", 0, kI, kOther},
    {"noconf", 0, kI, kOther},
    {"branch-count", 1, kI, kOther},
    {"pmi-connect", 1, kI, kOther},
    {"pmi-noaggregate", 0, kI, kOther},
    {"pmi-aggregate", 0, kI, kOther},
    {"silent-abort", 0, kI, kOther},
    {"ordered-output", 0, kI, kOther},
    {"tune", 1, kI, kOther},
    {"use-app-topology", 1, kI, kOther},
    {"hosts-group", 1, kI, kOther},
};

constexpr OptionRow kMpirunRsh[] = {
    {"ssh", 0, kR, kRemoteShell},  {"rsh", 0, kR, kRemoteShell},
    {"tv", 0, kR, kOther},         {"xterm", 0, kR, kOther},
    {"debug", 0, kR, kOther},      {"show", 0, kR, kInformation},
    {"legacy", 0, kR, kOther},     {"export", 0, kR, kOther},
    {"export-all", 0, kR, kOther}, {"use-gforker-prefix", 0, kR, kOther},
    {"config", 1, kR, kAppFile},   {"mpmd", 1, kR, kAppFile},
    {"ppn", 1, kR, kPerNode},      {"sg", 1, kR, kOther},
    {"dpm", 0, kR, kOther},        {"dpmspawn", 1, kR, kOther},
    {"paramfile", 1, kR, kOther},
};

constexpr OptionRow kHorovod[] = {
    {"num-proc", 1, kV, kProcesses},
    {"p", 1, kV, kRemoteShell},
    {"ssh-port", 1, kV, kRemoteShell},
    {"i", 1, kV, kRemoteShell},
    {"ssh-identity-file", 1, kV, kRemoteShell},
    {"min-np", 1, kV, kOther},
    {"min-num-proc", 1, kV, kOther},
    {"max-np", 1, kV, kOther},
    {"max-num-proc", 1, kV, kOther},
    {"slots", 1, kV, kOther},
    {"slots-per-host", 1, kV, kOther},
    {"host-discovery-script", 1, kV, kOther},
    {"reset-limit", 1, kV, kOther},
    {"cooldown-range", 2, kV, kOther},
    {"blacklist-cooldown-range", 2, kV, kOther},
    {"network-interfaces", 1, kV, kOther},
    {"network-interface", 1, kV, kOther},
    {"nics", 1, kV, kOther},
    {"output-filename", 1, kV, kOther},
    {"prefix-output-with-timestamp", 0, kV, kOther},
    {"disable-cache", 0, kV, kOther},
    {"start-timeout", 1, kV, kOther},
    {"elastic-timeout", 1, kV, kOther},
    {"config-file", 1, kV, kOther},
    {"mpi-args", 1, kV, kOther},
    {"mpi", 0, kV, kOther},
    {"gloo", 0, kV, kOther},
    {"jsrun", 0, kV, kOther},
    {"tcp", 0, kV, kOther},
    {"check-build", 0, kV, kInformation},
    {"cb", 0, kV, kInformation},
    {"fusion-threshold-mb", 1, kV, kOther},
    {"cycle-time-ms", 1, kV, kOther},
    {"cache-capacity", 1, kV, kOther},
    {"hierarchical-allreduce", 0, kV, kOther},
    {"no-hierarchical-allreduce", 0, kV, kOther},
    {"hierarchical-allgather", 0, kV, kOther},
    {"autotune", 0, kV, kOther},
    {"autotune-log-file", 1, kV, kOther},
    {"timeline-filename", 1, kV, kOther},
    {"timeline-mark-cycles", 0, kV, kOther},
    {"no-stall-check", 0, kV, kOther},
    {"stall-check-warning-time-seconds", 1, kV, kOther},
    {"stall-check-shutdown-time-seconds", 1, kV, kOther},
    {"log-level", 1, kV, kOther},
    {"log-hide-timestamp", 0, kV, kOther},
    {"log-with-timestamp", 0, kV, kOther},
    {"num-nccl-streams", 1, kV, kOther},
    {"thread-affinity", 1, kV, kOther},
    {"binding-args", 1, kV, kOther},
    {"mpi-threads-disable", 0, kV, kOther},
};

struct Section {
  const OptionRow* rows;
  size_t count;
};

constexpr std::array<Section, 5> kSections = {{
    {kCommon, std::size(kCommon)},
    {kOpenMpi, std::size(kOpenMpi)},
    {kHydra, std::size(kHydra)},
    {kMpirunRsh, std::size(kMpirunRsh)},
    {kHorovod, std::size(kHorovod)},
}};

}  // namespace

const OptionRow* find_option(std::string_view name, LauncherSet launchers) {
  for (const Section& section : kSections) {
    for (size_t i = 0; i < section.count; ++i) {
      const OptionRow& row = section.rows[i];
      if (row.name == name && (row.launchers & launchers) != 0) return &row;
    }
  }
  return nullptr;
}

std::vector<std::string> option_names(LauncherSet launchers) {
  std::vector<std::string> names;
  for (const Section& section : kSections) {
    for (size_t i = 0; i < section.count; ++i) {
      const OptionRow& row = section.rows[i];
      if ((row.launchers & launchers) != 0) names.emplace_back(row.name);
    }
  }
  return names;
}

}  // namespace muster
