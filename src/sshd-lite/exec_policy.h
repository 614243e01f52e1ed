// SPDX-License-Identifier: Apache-2.0
// Decides which remote command lines may start in this pod. By default our own
// agent, in any directory, so that a launcher of another image can ask for it,
// and the queries that frameworks make before they call mpirun: `true`,
// `hostname`, `hostname -I` and the like. Two options widen it: the daemons of
// MPI launchers that have no muster, and any command (through /bin/sh -c).
// Refuses: everything else. Hygiene, not containment: a holder of the job key
// can run code through the agent; see docs/security.md. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sshd-lite/mpi_daemon_line.h"

namespace muster {

// The user name by which `muster worker probe` logs in.
inline constexpr std::string_view kProbeUser = "probe";

struct ExecPolicy {
  std::string agent;              // absolute path of this pod's muster-agent
  bool allow_any = false;         // --allow-any-command
  bool allow_mpi_daemons = true;  // false: --refuse-mpi-daemons
};

// "agent" (a job's: its leftovers are swept, it counts as the job), "probe"
// (`muster-agent version` proves exec, `doctor` examines the pod, a framework's
// query: no job), "daemon" (of an MPI launcher), "any".
enum class CommandKind { kAgent, kProbe, kDaemon, kAny };
std::string_view command_kind_name(CommandKind kind);

struct AllowedCommand {
  std::vector<std::string> argv;
  CommandKind kind = CommandKind::kAny;
  std::vector<EnvChange> changes;  // of the environment; only for a daemon
};

constexpr size_t kMaxCommand = 128 * 1024;

// Error code "exec_refused". Words of an agent line may hold letters, digits
// and . _ / : = , @ + - only; quotes and shell signs are refused.
Result<AllowedCommand> decide_exec(const ExecPolicy& policy,
                                   std::string_view command);

// Whether a client may set this variable for its command: LANG, LC_*, TERM, TZ.
bool env_allowed(std::string_view name, std::string_view value);

}  // namespace muster
