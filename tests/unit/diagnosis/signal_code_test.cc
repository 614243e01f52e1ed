// SPDX-License-Identifier: Apache-2.0
// Ends by a signal, in the words of many launchers, shells and libraries: each
// sentence with each signal, as its number, its name or its code.
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

struct Signal {
  std::string_view number;
  std::string_view name;
  std::string_view words;
  std::string_view shells;  // code
  std::string_view pythons;
  std::string_view code;
};
constexpr std::array<Signal, 7> kSignals = {
    Signal{"4", "SIGILL", "Illegal instruction", "132", "-4",
           "illegal_instruction"},
    {"6", "SIGABRT", "Aborted", "134", "-6", "abort_sigabrt"},
    {"7", "SIGBUS", "Bus error", "135", "-7", "shm_full"},
    {"8", "SIGFPE", "Floating point exception", "136", "-8", "fpe"},
    {"9", "SIGKILL", "Killed", "137", "-9", "sigkill_unexplained"},
    {"11", "SIGSEGV", "Segmentation fault", "139", "-11", "segfault"},
    {"15", "SIGTERM", "Terminated", "143", "-15", "terminated_external"}};

// N: number, S: name, W: words, C: a shell's code, P: Python's.
constexpr std::array<std::string_view, 36> kSentences = {
    "process 4711 killed by signal {N}",
    "Worker 3 was terminated by signal {N} ({S})",
    "task 3 died with signal {N}",
    "child process terminated with signal {S}",
    "Program terminated with signal {S}, {W}.",
    "process exited on signal {N} ({W})",
    "Job failed: signal {N} ({S})",
    "train.py: exited due to signal {N}",
    "Process finished with exit code {C}",
    "process exited with status {C}",
    "step exited with an exit code of {C}",
    "PE_RANK 12 aborted with an exit code of {C}",
    "srun: error: node-3: task 3: Exited with exit code {C}",
    "command returned {C}",
    "command failed with return code {C}",
    "job finished and its return code was {C}",
    "Exit status = {C}",
    "\"exitCode\": {C}",
    "worker process exit code {P}",
    "returncode: {P}",
    "Command died with <Signals.{S}: {N}>.",
    "CalledProcessError: Command './train' died with <Signals.{S}: {N}>.",
    "CalledProcessError: Command 'x' returned non-zero exit status {C}.",
    "make: *** [run] Error {C}",
    "ERROR: pod worker-3 terminated with exit code {C}",
    "Container exited with a non-zero exit code {C}",
    "The process terminated abnormally (exit status {C})",
    "./run.sh: line 12:  4711 {W}                 (core dumped) ./a.out",
    "Task failed with signal: {S}",
    "Process 4711 stopped: signal {S}",
    "failed (exit code {C})",
    "script exited with {C}",
    "non-zero exit status: {C}",
    "Exited with error code {C}",
    "Job step aborted with exit status {C}:{N}",
    "State=FAILED ExitCode 0:{N}"};

std::string filled(std::string_view sentence, const Signal& signal) {
  std::string text(sentence);
  const auto put = [&text](std::string_view name, std::string_view value) {
    const size_t at = text.find(name);
    if (at != std::string::npos) text.replace(at, name.size(), value);
  };
  put("{N}", signal.number);
  put("{S}", signal.name);
  put("{W}", signal.words);
  put("{C}", signal.shells);
  put("{P}", signal.pythons);
  return text + "\n";
}

Verdict judged(const std::string& log) {
  return diagnose(evidence_from_log(log, RuleBook::built_in()));
}

}  // namespace

TEST_CASE("an end by a signal has the signal's class, in whatever words") {
  for (const std::string_view sentence : kSentences) {
    for (const Signal& signal : kSignals) {
      const std::string log = filled(sentence, signal);
      INFO(log);
      CHECK(judged(log).code == signal.code);
    }
  }
}

TEST_CASE("who ended by a signal is told by the words that name the signal") {
  const Verdict verdict = judged(
      "mpirun noticed that process rank 3 with PID 77 on node node-2 exited on "
      "signal 11 (Segmentation fault).\n");
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 3);
  CHECK(verdict.host == "node-2");
}
