// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/exit_status.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

#include "diagnosis/cause/candidate.h"

namespace muster {

namespace {

constexpr const char* kSilent = "launcher_silent";
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// How much later than its consequences we may hear of a crash: later than the
// end of a peer, and than mpirun's kills.
constexpr int64_t kCoreNs = 1'000'000'000;
constexpr int64_t kKilledAfterNs = 5'000'000'000;

struct FactClass {
  std::string_view code;
  ExitClass exit_class;
};

// muster's own codes. A failure that the same job would meet again is never in
// 200-209.
constexpr std::array<FactClass, 58> kFactClasses = {{
    {"dns_unresolved", ExitClass::kWorkersNotReady},
    {"dns_failure", ExitClass::kWorkersNotReady},
    {"ssh_unreachable", ExitClass::kWorkersNotReady},
    {"tcp_refused", ExitClass::kWorkersNotReady},
    {"tcp_filtered", ExitClass::kWorkersNotReady},
    {"tcp_unreachable", ExitClass::kWorkersNotReady},
    {"sshd_unavailable", ExitClass::kWorkersNotReady},
    {"ssh_banner", ExitClass::kWorkersNotReady},
    {"ssh_closed", ExitClass::kWorkersNotReady},
    {"ssh_kex", ExitClass::kWorkersNotReady},
    {"ssh_foreign", ExitClass::kWorkersNotReady},
    {"stale_address", ExitClass::kWorkersNotReady},
    {"agent_unusable", ExitClass::kWorkersNotReady},
    {"agent_exited", ExitClass::kWorkersNotReady},
    {"agent_silent", ExitClass::kWorkersNotReady},
    {"mpi_silent", ExitClass::kWorkersNotReady},
    {"unanswered", ExitClass::kWorkersNotReady},
    {"hostfile_empty", ExitClass::kWorkersNotReady},
    {"ssh_hostkey", ExitClass::kConfiguration},
    {"ssh_auth", ExitClass::kConfiguration},
    {"agent_missing", ExitClass::kConfiguration},
    {"agent_refused", ExitClass::kWorkersNotReady},
    {"ssh_exec", ExitClass::kConfiguration},
    {"agent_version", ExitClass::kConfiguration},
    {"version_mismatch", ExitClass::kConfiguration},
    {"protocol", ExitClass::kConfiguration},
    {"launcher_descriptors", ExitClass::kConfiguration},
    {"no_descriptors", ExitClass::kConfiguration},
    {"uid_no_passwd", ExitClass::kConfiguration},
    {"run_as_root_refused", ExitClass::kConfiguration},
    {"not_enough_slots", ExitClass::kConfiguration},
    {"mpi_version_mismatch", ExitClass::kConfiguration},
    {"mpi_family_skew", ExitClass::kConfiguration},
    {"openmpi_skew", ExitClass::kConfiguration},
    {"port_in_use", ExitClass::kConfiguration},
    {"configuration_wrong", ExitClass::kConfiguration},
    {"no_hosts", ExitClass::kConfiguration},
    {"key_unusable", ExitClass::kConfiguration},
    {"key_missing", ExitClass::kConfiguration},
    {"no_job_key", ExitClass::kConfiguration},
    {"job_key_unreadable", ExitClass::kConfiguration},
    {"file_unreadable", ExitClass::kConfiguration},
    {"no_writable_dir", ExitClass::kConfiguration},
    {"port_privileged", ExitClass::kConfiguration},
    {"usage", ExitClass::kUsage},
    {"internal", ExitClass::kInternal},
    {"resources", ExitClass::kInternal},
    {"sandbox", ExitClass::kInternal},
    {"hang", ExitClass::kTimeLimit},
    {"cwd_missing", ExitClass::kNotExecutable},
    {"request_too_large", ExitClass::kNotExecutable},
    {"exe_not_found", ExitClass::kNotFound},
    {"no_program", ExitClass::kNotFound},
    {"world_size_mismatch", ExitClass::kPlacement},
    {"exit_without_finalize", ExitClass::kPlacement},
    {"rank_left_fence", ExitClass::kPlacement},
    {"rank_missing", ExitClass::kStartDeadline},
    {"launcher_silent", ExitClass::kWorkerLost},
}};

ExitStatus of_end(const RankEvidence& rank) {
  return {std::nullopt, exit_code_for(rank.wait_status), rank.rank};
}

bool ended_badly(const RankEvidence& rank) {
  return rank.outcome == RankOutcome::kExited && rank.wait_status != 0 &&
         !rank.stopped_by_us;
}

// By a signal that others send to end a process. A kill for memory is not that.
bool told_to_end(const RankEvidence& rank) {
  if (rank.oom_killed || !WIFSIGNALED(rank.wait_status)) return false;
  const int signal = WTERMSIG(rank.wait_status);
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
         signal == SIGHUP;
}

bool is_crash(const RankEvidence& rank) {
  if (!WIFSIGNALED(rank.wait_status)) return false;
  const int signal = WTERMSIG(rank.wait_status);
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
         signal == SIGFPE;
}

int64_t ended_ns(const RankEvidence& rank) {
  return rank.exit_ns > 0 ? rank.exit_ns : kNever;
}

class Decision {
 public:
  explicit Decision(const Evidence& evidence)
      : evidence_(evidence), job_(evidence.job), first_(first_failed()) {}

  ExitStatus decide() const {
    if (const auto refused = refused_start()) return *refused;
    // Without a launcher that holds the job together the ends of ranks say
    // nothing.
    if (launcher_stalled(evidence_) &&
        (first_ == nullptr || !is_crash(*first_))) {
      return exit_status_of(ExitClass::kWorkerLost);
    }
    const auto lost = lost_worker();
    if (first_ != nullptr && !told_to_end(*first_) && !lost) {
      return of_end(*first_);
    }
    if (const auto stop = why_stopped()) return *stop;
    if (lost) return *lost;
    if (job_.tool_killed && !some_rank_failed()) {
      return {std::nullopt, exit_code_for(job_.tool_status), -1};
    }
    if (const auto told = status_of_clean_up()) return *told;
    if (first_ != nullptr) return of_end(*first_);
    return without_failed_rank();
  }

 private:
  [[nodiscard]] bool with_mpirun() const { return job_.backend != "pmix"; }
  [[nodiscard]] bool tool_ended_itself() const {
    return job_.tool_ended && !job_.tool_stopped_by_us;
  }

  // It crashed during clean-up, or ended with -1, as Hydra does if it fails
  // itself (mpiexec.c): it has chosen no code.
  [[nodiscard]] bool tool_itself_failed() const {
    constexpr int kMinusOne = 255;
    return WIFSIGNALED(job_.tool_status) ||
           WEXITSTATUS(job_.tool_status) == kMinusOne;
  }

  // mpirun ended with the code of this rank; Hydra with a bare signal number.
  [[nodiscard]] bool matches_tool(const RankEvidence& rank) const {
    if (!tool_ended_itself() || !WIFEXITED(job_.tool_status)) return false;
    const int code = WEXITSTATUS(job_.tool_status);
    return code != 0 && (exit_code_for(rank.wait_status) == code ||
                         (WIFSIGNALED(rank.wait_status) &&
                          WTERMSIG(rank.wait_status) == code));
  }

  // The report of a crash comes late, since the kernel writes a core first. A
  // crash therefore stands before the ends of ranks that lacked a peer, and
  // before mpirun's clean-up.
  [[nodiscard]] bool before(const RankEvidence& a,
                            const RankEvidence& b) const {
    const bool told = told_to_end(a) || told_to_end(b);
    const int64_t late = told && with_mpirun() ? kKilledAfterNs : kCoreNs;
    const auto when = [late](const RankEvidence& rank) {
      const int64_t time = ended_ns(rank);
      return is_crash(rank) && time != kNever ? time - late : time;
    };
    if (when(a) != when(b)) return when(a) < when(b);
    return !told_to_end(a) && told_to_end(b);
  }

  [[nodiscard]] const RankEvidence* first_failed() const {
    const RankEvidence* first = nullptr;
    const RankEvidence* of_tool = nullptr;
    for (const RankEvidence& rank : evidence_.ranks) {
      if (!ended_badly(rank)) continue;
      if (first == nullptr || before(rank, *first)) first = &rank;
      if (!with_mpirun() || !matches_tool(rank)) continue;
      if (of_tool == nullptr || before(rank, *of_tool)) of_tool = &rank;
    }
    // mpirun knows which of its ranks failed; ours is one that it killed.
    return first != nullptr && told_to_end(*first) && of_tool != nullptr
               ? of_tool
               : first;
  }

  [[nodiscard]] bool some_rank_failed() const {
    return first_ != nullptr && !told_to_end(*first_);
  }

  [[nodiscard]] std::optional<ExitStatus> refused_start() const {
    for (const RankEvidence& rank : evidence_.ranks) {
      if (rank.outcome != RankOutcome::kRefused) continue;
      ExitStatus status = exit_status_of(rank.refusal_exit_code == 126
                                             ? ExitClass::kNotExecutable
                                             : ExitClass::kNotFound);
      status.rank = rank.rank;
      return status;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<ExitStatus> why_stopped() const {
    if (job_.stop_signal != 0 && !job_.preempted) {
      return ExitStatus{std::nullopt, 128 + job_.stop_signal, -1};
    }
    if (job_.time_limit_hit) return exit_status_of(ExitClass::kTimeLimit);
    if (job_.start_deadline_hit)
      return exit_status_of(ExitClass::kStartDeadline);
    if (const auto found = error_finding()) return found;
    const bool leaving =
        std::any_of(evidence_.nodes.begin(), evidence_.nodes.end(),
                    [](const auto& node) { return node.told_to_leave; });
    if (job_.preempted || leaving) return exit_status_of(ExitClass::kPreempted);
    return never_ready();
  }

  [[nodiscard]] std::optional<ExitStatus> error_finding() const {
    for (const Finding& finding : evidence_.findings) {
      if (finding.severity != Severity::kError) continue;
      const ExitClass otherwise = job_.phase == "discover"
                                      ? ExitClass::kConfiguration
                                      : ExitClass::kPreflight;
      ExitStatus status =
          exit_status_of(exit_class_of_fact(finding.code).value_or(otherwise));
      status.rank = finding.rank;
      return status;
    }
    return std::nullopt;
  }

  // One permanent reason is enough: the next attempt meets it again.
  [[nodiscard]] std::optional<ExitStatus> never_ready() const {
    std::optional<ExitStatus> status;
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.outcome != NodeOutcome::kNeverReady) continue;
      const ExitClass exit_class = exit_class_of_fact(node.error.code)
                                       .value_or(ExitClass::kWorkersNotReady);
      if (!status || !is_retryable(exit_class))
        status = exit_status_of(exit_class);
    }
    return status;
  }

  // When a lost worker was last alive: it is given up long after it falls
  // silent.
  [[nodiscard]] static int64_t left_ns(const NodeEvidence& node) {
    const bool silent = node.error.code == "worker_silent";
    const int64_t time = silent && !node.memory.empty()
                             ? node.memory.back().time_ns
                             : node.lost_ns;
    return time > 0 ? time : kNever;
  }

  // Nothing if the first rank had failed before.
  [[nodiscard]] std::optional<ExitStatus> lost_worker() const {
    std::optional<ExitStatus> status;
    for (const NodeEvidence& node : evidence_.nodes) {
      if (node.outcome != NodeOutcome::kLost) continue;
      const bool there = first_ != nullptr && first_->node == node.node;
      // It reported its rank's end; but a kill may come from the pod's own end.
      const bool by_worker = there && told_to_end(*first_);
      const bool first = first_ == nullptr || by_worker ||
                         (!there && left_ns(node) < ended_ns(*first_));
      if (!first) continue;
      const bool memory = oom_counter_rose(node) || was_near_limit(node);
      if (!status || memory) {
        status = exit_status_of(memory ? ExitClass::kWorkerOutOfMemory
                                       : ExitClass::kWorkerLost);
      }
    }
    return status;
  }

  // All failures that we saw were kills; mpirun's code says how the job ended,
  // as Hydra's after an MPI_Abort.
  [[nodiscard]] std::optional<ExitStatus> status_of_clean_up() const {
    const bool killed = first_ == nullptr || told_to_end(*first_);
    if (!killed) return std::nullopt;
    if (job_.mpi_abort) return of_abort();
    if (somebody_left()) return exit_status_of(ExitClass::kPlacement);
    if (!with_mpirun() || !tool_ended_itself() ||
        (first_ != nullptr && matches_tool(*first_))) {
      return std::nullopt;
    }
    if (first_ != nullptr && tool_itself_failed()) return std::nullopt;
    if (job_.tool_status != 0) {
      ExitStatus status{std::nullopt, exit_code_for(job_.tool_status)};
      status.start_refused = std::any_of(
          evidence_.ranks.begin(), evidence_.ranks.end(), [](const auto& rank) {
            return rank.outcome == RankOutcome::kNeverStarted;
          });
      return status;
    }
    // It killed ranks although it sees no failure: MPI_Abort with code 0.
    if (first_ != nullptr) return ExitStatus{std::nullopt, 1};
    return std::nullopt;
  }

  // A rank of an MPI program ended with 0, and mpirun at once killed another:
  // it does so if a rank leaves without MPI_Finalize. After an MPI_Abort with
  // code 0, which looks alike, it ends with 0 itself.
  [[nodiscard]] bool somebody_left() const {
    constexpr int64_t kAtOnceNs = 2'000'000'000;
    constexpr int64_t kSameTimeNs = 200'000'000;
    if (first_ == nullptr || !with_mpirun()) return false;
    if (tool_ended_itself() && job_.tool_status == 0) return false;
    return std::any_of(
        evidence_.ranks.begin(), evidence_.ranks.end(),
        [this](const RankEvidence& rank) {
          const int64_t killed_after = first_->exit_ns - rank.exit_ns;
          return rank.outcome == RankOutcome::kExited &&
                 rank.wait_status == 0 &&
                 (rank.loaded_mpi || first_->loaded_mpi) &&
                 !rank.mpi_finalized && rank.exit_ns > 0 &&
                 killed_after > -kSameTimeNs && killed_after < kAtOnceNs;
        });
  }

  // An abort with code 0 is not a success; 1 is the usual code of a failure.
  [[nodiscard]] ExitStatus of_abort() const {
    const int code = job_.mpi_abort_code & 0xff;
    return {std::nullopt, code == 0 ? 1 : code, job_.mpi_abort_rank};
  }

  [[nodiscard]] ExitStatus without_failed_rank() const {
    if (left_the_world()) return exit_status_of(ExitClass::kPlacement);
    if (ended_well()) return exit_status_of(ExitClass::kSuccess);
    const bool lost = std::any_of(
        evidence_.ranks.begin(), evidence_.ranks.end(),
        [](const auto& rank) { return rank.outcome == RankOutcome::kLost; });
    if (lost) return exit_status_of(ExitClass::kWorkerLost);
    return {std::nullopt, 1, -1};
  }

  // Another world than the one that was started, or an exit from it.
  [[nodiscard]] bool left_the_world() const {
    return std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                       [this](const RankEvidence& rank) {
                         if (rank.world_size > 0 && job_.world_size > 0 &&
                             rank.world_size != job_.world_size) {
                           return true;
                         }
                         return rank.outcome == RankOutcome::kExited &&
                                !rank.stopped_by_us && rank.wait_status == 0 &&
                                rank.loaded_mpi && !rank.mpi_attached &&
                                (!with_mpirun() || !rank.lonely_mpi.empty());
                       });
  }

  [[nodiscard]] bool ended_well() const {
    if (job_.tool_ended && job_.tool_status != 0) return false;
    if (evidence_.ranks.empty()) return job_.tool_ended;
    return std::all_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                       [](const RankEvidence& rank) {
                         return rank.outcome == RankOutcome::kExited &&
                                rank.wait_status == 0;
                       });
  }

  const Evidence& evidence_;
  const JobEvidence& job_;
  const RankEvidence* first_;
};

}  // namespace

ExitStatus exit_status_of(ExitClass exit_class) {
  return {exit_class, exit_code_for(exit_class), -1};
}

std::optional<ExitClass> exit_class_of_fact(std::string_view code) {
  for (const FactClass& row : kFactClasses) {
    if (row.code == code) return row.exit_class;
  }
  return std::nullopt;
}

bool launcher_stalled(const Evidence& evidence) {
  return std::any_of(evidence.nodes.begin(), evidence.nodes.end(),
                     [](const auto& node) {
                       return node.outcome == NodeOutcome::kLost &&
                              node.error.code == kSilent;
                     }) ||
         std::any_of(evidence.findings.begin(), evidence.findings.end(),
                     [](const auto& finding) {
                       return finding.severity == Severity::kError &&
                              finding.code == kSilent;
                     });
}

ExitStatus exit_status(const Evidence& evidence) {
  return Decision(evidence).decide();
}

}  // namespace muster
