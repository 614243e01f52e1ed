// SPDX-License-Identifier: Apache-2.0
// The table behind job/exit_codes.h. Pure.
#include "job/exit_codes.h"

#include <sys/wait.h>

#include <array>
#include <cstring>

namespace muster {

namespace {

struct Row {
  ExitClass exit_class;
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<Row, 14> kRows = {{
    {ExitClass::kSuccess, "success", "every rank ended with code 0"},
    {ExitClass::kUsage, "usage", "the command line is wrong"},
    {ExitClass::kConfiguration, "configuration",
     "hostfile, key or settings are missing or contradict each other"},
    {ExitClass::kPreflight, "preflight",
     "a check before the start refused the job"},
    {ExitClass::kPlacement, "placement",
     "ranks started on other hosts or in another world than planned, or left "
     "it"},
    {ExitClass::kTimeLimit, "time_limit", "the job reached its time limit"},
    {ExitClass::kNotExecutable, "not_executable",
     "the program cannot be executed on some host"},
    {ExitClass::kNotFound, "not_found", "the program is missing on some host"},
    {ExitClass::kWorkersNotReady, "workers_not_ready",
     "not every worker was ready in time"},
    {ExitClass::kWorkerLost, "worker_lost",
     "a worker went away during the job"},
    {ExitClass::kPreempted, "preempted",
     "a pod of the job was ended from outside"},
    {ExitClass::kStartDeadline, "start_deadline",
     "the ranks did not get through MPI_Init in time"},
    {ExitClass::kWorkerOutOfMemory, "worker_out_of_memory",
     "the kernel killed a worker for its memory use"},
    {ExitClass::kInternal, "internal", "an error inside muster itself"},
}};

const Row& row_of(ExitClass exit_class) {
  for (const Row& row : kRows) {
    if (row.exit_class == exit_class) return row;
  }
  return kRows.back();
}

}  // namespace

std::string_view exit_class_name(ExitClass exit_class) {
  return row_of(exit_class).name;
}

std::string_view exit_class_meaning(ExitClass exit_class) {
  return row_of(exit_class).meaning;
}

std::optional<ExitClass> exit_class_by_code(int code) {
  for (const Row& row : kRows) {
    if (static_cast<int>(row.exit_class) == code) return row.exit_class;
  }
  return std::nullopt;
}

std::optional<ExitClass> exit_class_by_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.exit_class;
  }
  return std::nullopt;
}

bool is_retryable(ExitClass exit_class) {
  const int code = static_cast<int>(exit_class);
  return code >= 200 && code <= 209;
}

int exit_code_for(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return exit_code_for(ExitClass::kInternal);  // stopped or continued: no end
}

int exit_code_for(ExitClass exit_class) { return static_cast<int>(exit_class); }

std::string describe_wait_status(int wait_status) {
  if (WIFEXITED(wait_status)) {
    return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
  }
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* words = sigdescr_np(signal);
    std::string text = "killed by signal " + std::to_string(signal);
    if (words != nullptr) text += " (" + std::string(words) + ")";
    if (WCOREDUMP(wait_status)) text += ", core dumped";
    return text;
  }
  return "has not ended (wait status " + std::to_string(wait_status) + ")";
}

std::string signal_word(int signal) {
  const char* const word = sigabbrev_np(signal);
  return word != nullptr ? "SIG" + std::string(word)
                         : "signal " + std::to_string(signal);
}

}  // namespace muster
