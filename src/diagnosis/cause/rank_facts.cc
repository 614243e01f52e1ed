// SPDX-License-Identifier: Apache-2.0
// The end of a rank: refused, killed, crashed, with a code, or too early.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/no_descriptors.h"
#include "diagnosis/cause/fact_list.h"
#include "diagnosis/cause/left_early.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

// SIGABRT is not among them: libraries raise it when they lose a peer.
bool crashed_by_itself(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return false;
  const int signal = WTERMSIG(wait_status);
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
         signal == SIGFPE;
}

std::string who(const RankEvidence& rank) {
  return (rank.rank < 0 ? "the program" : "rank " + std::to_string(rank.rank)) +
         (rank.host.empty() ? "" : " on " + rank.host);
}

std::string loaded_mpi(const RankEvidence& rank) {
  if (rank.lonely_mpi.empty()) return "MPI";
  return rank.lonely_mpi + ", which is not the MPI of its mpirun,";
}

// Its program: for a line "mpirun … : …" not the first word.
std::string refused_program(const Error& refusal, const JobEvidence& job) {
  constexpr std::string_view kCannot = "cannot start ";
  if (refusal.what.starts_with(kCannot)) {
    return refusal.what.substr(kCannot.size());
  }
  return job.argv.empty() ? "" : job.argv.front();
}

void read_refusal(const RankEvidence& rank, FactList& facts) {
  const Error& refusal = rank.refusal;
  if (refusal.code == "cwd_missing") {
    facts.add_for(rank, "workdir_missing", Confidence::kProven, refusal.text())
        ->values["directory"] = refusal.where;
    return;
  }
  const bool no_process =
      refusal.code == "resources" &&
      refusal.why.find("temporarily unavailable") != std::string::npos;
  if (refusal.code == kNoDescriptors || no_process) {
    Candidate* const candidate = facts.add_for(
        rank, "process_limits", Confidence::kProven, refusal.text());
    if (refusal.code == kNoDescriptors) {
      candidate->values["files"] = "yes";
      candidate->values["what"] = "open files";
    }
    return;
  }
  const bool too_large_to_send = refusal.code == "request_too_large";
  const bool too_large =
      too_large_to_send ||
      refusal.why.find("Argument list too long") != std::string::npos;
  Candidate* const candidate = facts.add_for(
      rank, too_large ? "arguments_too_large" : "exe_not_runnable",
      Confidence::kProven, refusal.text());
  candidate->values["why"] = refusal.why;
  if (too_large_to_send) return;  // the launcher's words name no program
  candidate->values["program"] = refused_program(refusal, facts.evidence().job);
  if (refusal.why.find("format") != std::string::npos) {
    candidate->values["wrong_arch"] = "yes";
  }
}

// When one rank has failed, mpirun ends the others by itself, often before we
// have heard of either: Hydra kills them, Open MPI sends SIGTERM first. The
// report of a crash may come after that of its consequences, but no rank
// crashes because another one got a SIGTERM.
bool mpirun_ended(const RankEvidence& rank, const FactList& facts) {
  constexpr int64_t kLate = 5'000'000'000;
  if (facts.evidence().job.backend == "pmix") return false;
  return std::any_of(
      facts.evidence().ranks.begin(), facts.evidence().ranks.end(),
      [&rank](const RankEvidence& other) {
        const int64_t late = crashed_by_itself(other.wait_status) ? kLate : 0;
        return other.rank != rank.rank &&
               other.outcome == RankOutcome::kExited &&
               other.wait_status != 0 && other.exit_ns > 0 &&
               other.exit_ns < rank.exit_ns + late;
      });
}

// A write beyond the end of /dev/shm is by far the usual SIGBUS.
void read_bus_error(const RankEvidence& rank, const std::string& line,
                    FactList& facts) {
  const NodeEvidence* const node =
      find_node(facts.evidence(), rank.node, rank.host);
  Confidence confidence = Confidence::kPossible;
  if (node != nullptr) {
    for (const DiskEvidence& disk : node->disks) {
      const bool full = disk.path == "/dev/shm" && disk.size > 0 &&
                        disk.free >= 0 && disk.free <= disk.size / 20;
      if (full) confidence = Confidence::kLikely;
    }
  }
  facts.add_for(rank, "shm_full", confidence, line);
}

void read_kill(const RankEvidence& rank, const std::string& line,
               FactList& facts) {
  const NodeEvidence* const node =
      find_node(facts.evidence(), rank.node, rank.host);
  const bool counted =
      rank.oom_killed || (node != nullptr && oom_counter_rose(*node));
  if (counted) {
    facts.add_for(rank, "host_oom_kill", Confidence::kProven,
                  line + ", and the kernel's oom_kill counter rose");
  } else if (node != nullptr && was_near_limit(*node)) {
    facts.add_for(rank, "host_oom_kill", Confidence::kLikely,
                  line + " near the memory limit");
  } else if (!mpirun_ended(rank, facts)) {
    facts.add_for(rank, "sigkill_unexplained", Confidence::kPossible, line);
  }
}

void read_signal(const RankEvidence& rank, int signal, FactList& facts) {
  const bool told = signal == SIGKILL || signal == SIGTERM;
  if (facts.evidence().job.tool_killed && told && !rank.oom_killed) return;
  const std::string line =
      who(rank) + " was " + describe_wait_status(rank.wait_status);
  switch (signal) {
    case SIGSEGV:
      facts.add_for(rank, "segfault", Confidence::kProven, line);
      return;
    case SIGILL:
      facts.add_for(rank, "illegal_instruction", Confidence::kProven, line);
      return;
    case SIGFPE:
      facts.add_for(rank, "fpe", Confidence::kProven, line);
      return;
    case SIGABRT:
      facts.add_for(rank, "abort_sigabrt", Confidence::kProven, line);
      return;
    case SIGBUS:
      read_bus_error(rank, line, facts);
      return;
    case SIGKILL:
      read_kill(rank, line, facts);
      return;
    case SIGINT:
      facts.add_for(rank, "interrupted", Confidence::kLikely, line);
      return;
    case SIGTERM:
      if (mpirun_ended(rank, facts)) return;
      [[fallthrough]];
    case SIGHUP:
      facts.add_for(rank, "terminated_external", Confidence::kLikely, line);
      return;
    default:
      facts.add_for(rank, "exit_nonzero_silent", Confidence::kPossible, line)
          ->values["code"] = std::to_string(128 + signal);
  }
}

void read_exit(const RankEvidence& rank, int code, FactList& facts) {
  const std::string line =
      who(rank) + " " + describe_wait_status(rank.wait_status);
  if (rank.oom_killed) {  // the command of a shell
    facts.add_for(rank, "host_oom_kill", Confidence::kLikely,
                  line + "; the kernel's oom_kill counter rose with it");
    return;
  }
  if ((code == 126 || code == 127) && !rank.loaded_mpi) {
    Candidate* const candidate =
        facts.add_for(rank, "exe_not_runnable", Confidence::kPossible, line);
    candidate->maybe = true;
  }
  Candidate* const candidate =
      facts.add_for(rank, "exit_nonzero_silent", Confidence::kPossible, line);
  candidate->values["code"] = std::to_string(code);
  candidate->death = true;
}

}  // namespace

void read_rank(const RankEvidence& rank, FactList& facts) {
  if (rank.outcome == RankOutcome::kRefused) {
    read_refusal(rank, facts);
    return;
  }
  if (rank.world_size > 0 && facts.evidence().job.world_size > 0 &&
      rank.world_size != facts.evidence().job.world_size) {
    Candidate* const candidate = facts.add_for(
        rank, "world_size_mismatch", Confidence::kLikely,
        "rank " + std::to_string(rank.rank) + " counts " +
            std::to_string(rank.world_size) + " ranks, " +
            std::to_string(facts.evidence().job.world_size) + " were started");
    candidate->values["world"] = std::to_string(rank.world_size);
  }
  if (rank.outcome != RankOutcome::kExited || rank.stopped_by_us) return;
  if (WIFSIGNALED(rank.wait_status)) {
    read_signal(rank, WTERMSIG(rank.wait_status), facts);
  } else if (WEXITSTATUS(rank.wait_status) != 0) {
    read_exit(rank, WEXITSTATUS(rank.wait_status), facts);
  } else if (rank.loaded_mpi && !rank.mpi_attached &&
             (facts.evidence().job.backend == "pmix" ||
              !rank.lonely_mpi.empty())) {
    facts.add_for(rank, "mpi_not_initialized", Confidence::kLikely,
                  who(rank) + " loaded " + loaded_mpi(rank) +
                      " and ended with code 0, but never connected to the job");
  }
}

void read_left_early(FactList& facts) {
  const auto left = left_early(facts.evidence());
  if (!left) return;
  const std::string line =
      who(*left->rank) + " ended with code 0 without MPI_Finalize";
  Candidate* const candidate =
      facts.add_for(*left->rank, "mpi_not_finalized", left->confidence, line);
  candidate->values["missing"] = line;
  candidate->time_ns = left->time_ns;
}

}  // namespace muster
