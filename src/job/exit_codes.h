// SPDX-License-Identifier: Apache-2.0
// The exit code contract of the launcher. A rank's own code passes unchanged;
// the launcher's own failures use numbers that retry rules can match:
// 100-109 permanent, 200-209 worth a retry. A rank may end with one of these
// numbers too, so `class` in report.json decides, not the number.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

enum class ExitClass : int {
  kSuccess = 0,
  kUsage = 2,
  kTimeLimit = 124,      // as timeout(1)
  kNotExecutable = 126,  // as a shell
  kNotFound = 127,       // as a shell
  kConfiguration = 100,
  kPreflight = 101,
  kPlacement = 102,
  kWorkersNotReady = 200,
  kWorkerLost = 201,
  kPreempted = 202,
  kStartDeadline = 203,
  kWorkerOutOfMemory = 204,
  kInternal = 209,
};

// Stable word for report.json: "worker_lost".
std::string_view exit_class_name(ExitClass exit_class);
// One line for a person, without the number.
std::string_view exit_class_meaning(ExitClass exit_class);
std::optional<ExitClass> exit_class_by_code(int code);
std::optional<ExitClass> exit_class_by_name(std::string_view name);
// 200-209: the same job may succeed when it is started again.
bool is_retryable(ExitClass exit_class);

// The launcher's code for the wait status (as waitpid gives it) of the first
// failing rank: 0-255 unchanged, or 128 + signal; this also holds for ranks of
// MPICH, whose own mpiexec would return the bare signal number.
int exit_code_for(int wait_status);
// The launcher's code for a failure of its own.
int exit_code_for(ExitClass exit_class);

// "exited with code 3", "killed by signal 9 (Killed)", with "core dumped".
std::string describe_wait_status(int wait_status);

std::string signal_word(int signal);  // "SIGTERM"; "signal 40"

}  // namespace muster
