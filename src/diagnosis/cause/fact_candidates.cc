// SPDX-License-Identifier: Apache-2.0
// From facts to candidates: wait statuses, counters, channels, deadlines,
// findings of planning. Only these may prove something.
#include <sys/wait.h>

#include <csignal>

#include "base/no_descriptors.h"
#include "base/text.h"
#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/left_early.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

constexpr int64_t kAfterAll = int64_t{1} << 60;

// SIGABRT is not among them: libraries raise it when they lose a peer.
bool crashed_by_itself(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return false;
  const int signal = WTERMSIG(wait_status);
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
         signal == SIGFPE;
}

class FactReader {
 public:
  FactReader(const Evidence& evidence, const RuleBook& rules)
      : evidence_(evidence), rules_(rules) {}

  std::vector<Candidate> read() {
    for (const RankEvidence& rank : evidence_.ranks) read_rank(rank);
    for (const NodeEvidence& node : evidence_.nodes) read_node(node);
    if (const auto left = left_early(evidence_)) read_left(*left);
    read_killed_tool();
    read_job();
    read_findings();
    read_collectives();
    return std::move(found_);
  }

 private:
  Candidate* add(std::string_view code, Confidence confidence,
                 std::string line) {
    const Rule* const rule = rules_.find(code);
    if (rule == nullptr) return nullptr;
    Candidate candidate;
    candidate.rule = rule;
    candidate.confidence = confidence;
    candidate.fact = true;
    candidate.line = std::move(line);
    found_.push_back(std::move(candidate));
    return &found_.back();
  }

  Candidate* add_for(const RankEvidence& rank, std::string_view code,
                     Confidence confidence, std::string line) {
    Candidate* const candidate = add(code, confidence, std::move(line));
    if (candidate == nullptr) return nullptr;
    candidate->rank = rank.rank;
    candidate->node = rank.node;
    candidate->host = rank.host;
    candidate->time_ns = rank.exit_ns;
    candidate->order = SIZE_MAX;  // the end comes after the last line
    return candidate;
  }

  Candidate* add_for(const NodeEvidence& node, std::string_view code,
                     Confidence confidence, std::string line) {
    Candidate* const candidate = add(code, confidence, std::move(line));
    if (candidate == nullptr) return nullptr;
    candidate->node = node.node;
    candidate->host = node.host;
    candidate->time_ns = node.lost_ns;
    return candidate;
  }

  void read_refusal(const RankEvidence& rank) {
    const Error& refusal = rank.refusal;
    if (refusal.code == "cwd_missing") {
      add_for(rank, "workdir_missing", Confidence::kProven, refusal.text())
          ->values["directory"] = refusal.where;
      return;
    }
    const bool no_process =
        refusal.code == "resources" &&
        refusal.why.find("temporarily unavailable") != std::string::npos;
    if (refusal.code == kNoDescriptors || no_process) {
      Candidate* const candidate =
          add_for(rank, "process_limits", Confidence::kProven, refusal.text());
      if (refusal.code == kNoDescriptors) {
        candidate->values["files"] = "yes";
        candidate->values["what"] = "open files";
      }
      return;
    }
    Candidate* const candidate =
        add_for(rank, "exe_not_runnable", Confidence::kProven, refusal.text());
    candidate->values["why"] = refusal.why;
    candidate->values["program"] =
        evidence_.job.argv.empty() ? "" : evidence_.job.argv.front();
    if (refusal.why.find("format") != std::string::npos) {
      candidate->values["wrong_arch"] = "yes";
    }
  }

  void read_rank(const RankEvidence& rank) {
    if (rank.outcome == RankOutcome::kRefused) {
      read_refusal(rank);
      return;
    }
    if (rank.world_size > 0 && evidence_.job.world_size > 0 &&
        rank.world_size != evidence_.job.world_size) {
      Candidate* const candidate = add_for(
          rank, "world_size_mismatch", Confidence::kLikely,
          "rank " + std::to_string(rank.rank) + " counts " +
              std::to_string(rank.world_size) + " ranks, " +
              std::to_string(evidence_.job.world_size) + " were started");
      candidate->values["world"] = std::to_string(rank.world_size);
    }
    if (rank.outcome != RankOutcome::kExited || rank.stopped_by_us) return;
    if (WIFSIGNALED(rank.wait_status)) {
      read_signal(rank, WTERMSIG(rank.wait_status));
    } else if (WEXITSTATUS(rank.wait_status) != 0) {
      read_exit(rank, WEXITSTATUS(rank.wait_status));
    } else if (rank.loaded_mpi && !rank.mpi_attached &&
               (evidence_.job.backend == "pmix" || !rank.lonely_mpi.empty())) {
      add_for(rank, "mpi_not_initialized", Confidence::kLikely,
              who(rank) + " loaded " + loaded_mpi(rank) +
                  " and ended with code 0, but never connected to the job");
    }
  }

  static std::string loaded_mpi(const RankEvidence& rank) {
    if (rank.lonely_mpi.empty()) return "MPI";
    return rank.lonely_mpi + ", which is not the MPI of its mpirun,";
  }

  static std::string who(const RankEvidence& rank) {
    return (rank.rank < 0 ? "the program"
                          : "rank " + std::to_string(rank.rank)) +
           (rank.host.empty() ? "" : " on " + rank.host);
  }

  void read_signal(const RankEvidence& rank, int signal) {
    const bool told = signal == SIGKILL || signal == SIGTERM;
    if (evidence_.job.tool_killed && told && !rank.oom_killed) return;
    const std::string line =
        who(rank) + " was " + describe_wait_status(rank.wait_status);
    switch (signal) {
      case SIGSEGV:
        add_for(rank, "segfault", Confidence::kProven, line);
        return;
      case SIGILL:
        add_for(rank, "illegal_instruction", Confidence::kProven, line);
        return;
      case SIGFPE:
        add_for(rank, "fpe", Confidence::kProven, line);
        return;
      case SIGABRT:
        add_for(rank, "abort_sigabrt", Confidence::kProven, line);
        return;
      case SIGBUS:
        read_bus_error(rank, line);
        return;
      case SIGKILL:
        read_kill(rank, line);
        return;
      case SIGINT:
        add_for(rank, "interrupted", Confidence::kLikely, line);
        return;
      case SIGTERM:
        if (mpirun_ended(rank)) return;
        [[fallthrough]];
      case SIGHUP:
        add_for(rank, "terminated_external", Confidence::kLikely, line);
        return;
      default:
        add_for(rank, "exit_nonzero_silent", Confidence::kPossible, line)
            ->values["code"] = std::to_string(128 + signal);
    }
  }

  // A write beyond the end of /dev/shm is by far the usual SIGBUS.
  void read_bus_error(const RankEvidence& rank, const std::string& line) {
    const NodeEvidence* const node = find_node(evidence_, rank.node, rank.host);
    Confidence confidence = Confidence::kPossible;
    if (node != nullptr) {
      for (const DiskEvidence& disk : node->disks) {
        const bool full = disk.path == "/dev/shm" && disk.size > 0 &&
                          disk.free >= 0 && disk.free <= disk.size / 20;
        if (full) confidence = Confidence::kLikely;
      }
    }
    add_for(rank, "shm_full", confidence, line);
  }

  void read_kill(const RankEvidence& rank, const std::string& line) {
    const NodeEvidence* const node = find_node(evidence_, rank.node, rank.host);
    const bool counted =
        rank.oom_killed || (node != nullptr && oom_counter_rose(*node));
    if (counted) {
      add_for(rank, "host_oom_kill", Confidence::kProven,
              line + ", and the kernel's oom_kill counter rose");
    } else if (node != nullptr && was_near_limit(*node)) {
      add_for(rank, "host_oom_kill", Confidence::kLikely,
              line + " near the memory limit");
    } else if (!mpirun_ended(rank)) {
      add_for(rank, "sigkill_unexplained", Confidence::kPossible, line);
    }
  }

  // When one rank has failed, mpirun ends the others by itself, often before
  // we have heard of either: Hydra kills them, Open MPI sends SIGTERM first.
  // The news of a crash may come behind that of what it led to, but nobody
  // crashes because another one was told to end.
  [[nodiscard]] bool mpirun_ended(const RankEvidence& rank) const {
    constexpr int64_t kLate = 5'000'000'000;
    if (evidence_.job.backend == "pmix") return false;
    return std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                       [&rank](const RankEvidence& other) {
                         const int64_t late =
                             crashed_by_itself(other.wait_status) ? kLate : 0;
                         return other.rank != rank.rank &&
                                other.outcome == RankOutcome::kExited &&
                                other.wait_status != 0 && other.exit_ns > 0 &&
                                other.exit_ns < rank.exit_ns + late;
                       });
  }

  void read_exit(const RankEvidence& rank, int code) {
    const std::string line =
        who(rank) + " " + describe_wait_status(rank.wait_status);
    if (rank.oom_killed) {  // the command of a shell
      add_for(rank, "host_oom_kill", Confidence::kLikely,
              line + "; the kernel's oom_kill counter rose with it");
      return;
    }
    if ((code == 126 || code == 127) && !rank.loaded_mpi) {
      Candidate* const candidate =
          add_for(rank, "exe_not_runnable", Confidence::kPossible, line);
      candidate->maybe = true;
    }
    Candidate* const candidate =
        add_for(rank, "exit_nonzero_silent", Confidence::kPossible, line);
    candidate->values["code"] = std::to_string(code);
    candidate->death = true;
  }

  void read_left(const LeftEarly& left) {
    const std::string line =
        who(*left.rank) + " ended with code 0 without MPI_Finalize";
    Candidate* const candidate =
        add_for(*left.rank, "mpi_not_finalized", left.confidence, line);
    candidate->values["missing"] = line;
    candidate->time_ns = left.time_ns;
  }

  // Its daemons then end their ranks, which is no cause of its own.
  void read_killed_tool() {
    const JobEvidence& job = evidence_.job;
    if (!job.tool_killed) return;
    const std::string tool =
        job.argv.empty() ? "the command"
                         : job.argv[0].substr(job.argv[0].rfind('/') + 1);
    Candidate* const candidate =
        add("sigkill_unexplained", Confidence::kPossible,
            tool + " " + describe_wait_status(job.tool_status));
    candidate->values["who"] = tool;
    candidate->values["tool"] = tool;
    for (const RankEvidence& rank : evidence_.ranks) {
      if (rank.outcome != RankOutcome::kExited || rank.wait_status == 0 ||
          rank.exit_ns <= 0) {
        continue;
      }
      const int64_t before = rank.exit_ns - 1;
      candidate->time_ns = candidate->time_ns == 0
                               ? before
                               : std::min(candidate->time_ns, before);
    }
  }

  void read_node(const NodeEvidence& node) {
    for (const std::string& event : node.driver_events) {
      Candidate* const candidate =
          add_for(node, "gpu_hardware", Confidence::kProven, event);
      candidate->values["event"] = event;
    }
    if (node.outcome == NodeOutcome::kNeverReady) read_never_ready(node);
    if (node.outcome == NodeOutcome::kLost) read_lost(node);
    if (node.told_to_leave) {
      add_for(node, "preempted", Confidence::kProven,
              node.host + " got SIGTERM from outside its container");
    }
  }

  void read_never_ready(const NodeEvidence& node) {
    const Rule* const rule = rules_.find(node.error.code);
    Candidate* const candidate = add_for(
        node, rule == nullptr ? "agent_unusable" : rule->code,
        Confidence::kLikely,
        node.error.code.empty()
            ? node.host + " was not ready; it got as far as: " + node.step
            : node.error.text());
    Captures& values = candidate->values;
    values["why"] = node.error.why;
    const std::string& code = node.error.code;
    if (code == "tcp_refused") values["refused"] = "yes";
    if (code == "tcp_filtered") values["filtered"] = "yes";
    if (code == "dns_failure") values["dns_down"] = "yes";
    if (code == "ssh_banner" || code == "ssh_closed") values["mesh"] = "yes";
  }

  // Of several ranks, which one took the memory is not known: -1.
  [[nodiscard]] int only_rank_on(const NodeEvidence& node) const {
    int found = -1;
    for (const RankEvidence& rank : evidence_.ranks) {
      if (rank.node != node.node) continue;
      if (found >= 0) return -1;
      found = rank.rank;
    }
    return found;
  }

  void read_lost(const NodeEvidence& node) {
    std::string line = node.error.text();
    if (line.empty()) line = "the connection to " + node.host + " ended";
    if (oom_counter_rose(node)) {
      add_for(node, "host_oom_kill", Confidence::kProven,
              line + "; the kernel's oom_kill counter had risen")
          ->rank = only_rank_on(node);
    } else if (was_near_limit(node)) {
      add_for(node, "host_oom_kill", Confidence::kLikely,
              line + ", at its memory limit")
          ->rank = only_rank_on(node);
    } else {
      // A worker that gave us up tells of us, not of itself.
      const bool ours = node.error.code == "launcher_silent";
      Candidate* const candidate =
          add_for(node, ours ? "launcher_stalled" : "daemon_lost",
                  ours ? Confidence::kLikely : Confidence::kProven, line);
      candidate->values["why"] = node.error.why;
      candidate->time_ns = fell_silent_ns(node);
    }
  }

  // A worker that says nothing is given up some time after its end, in which
  // others may have failed for it.
  static int64_t fell_silent_ns(const NodeEvidence& node) {
    const bool silent = node.error.code == "worker_silent";
    return silent && !node.memory.empty() ? node.memory.back().time_ns
                                          : node.lost_ns;
  }

  void read_job() {
    const JobEvidence& job = evidence_.job;
    if (job.time_limit_hit) {
      add("timeout_walltime", Confidence::kProven,
          "the launcher ended the job at its time limit" +
              (job.time_limit_ms < 0
                   ? std::string()
                   : " of " + human_duration_ms(job.time_limit_ms)))
          ->time_ns = job.stop_ns;
    }
    if (job.preempted) {
      add("preempted", Confidence::kProven,
          "the launcher's pod got SIGTERM from outside its container")
          ->time_ns = job.preempted_ns;
    }
    if (job.stop_signal != 0 && !job.preempted) {
      const std::string signal = signal_word(job.stop_signal);
      add("interrupted", Confidence::kProven,
          job.stop_signal == SIGPIPE ? "the reader of stdout has hung up"
                                     : "the launcher got " + signal)
          ->values["signal"] = signal;
    }
    if (job.start_deadline_hit) {
      add("start_timeout", Confidence::kLikely,
          "the launcher gave up waiting for MPI_Init");
    }
    if (job.mpi_abort) {
      Candidate* const candidate =
          add("mpi_abort_by_user", Confidence::kLikely,
              "MPI_Abort with code " + std::to_string(job.mpi_abort_code));
      candidate->values["code"] = std::to_string(job.mpi_abort_code);
      blame(*candidate, job.mpi_abort_rank);
      if (const RankEvidence* rank = find_rank(evidence_, job.mpi_abort_rank)) {
        candidate->order = SIZE_MAX - 1;
        candidate->time_ns = rank->exit_ns;
      }
    }
    if (job.lone_worlds > 0) {
      const std::string count = std::to_string(job.lone_worlds);
      Candidate* const candidate =
          add("world_size_mismatch", Confidence::kPossible,
              count +
                  " processes say one after the other that they are rank "
                  "0 of 1");
      candidate->values["world"] = "1";
      candidate->time_ns = kAfterAll;  // whatever else failed is the cause
    }
    if (job.tool_ended && job.tool_status != 0 && evidence_.ranks.empty()) {
      Candidate* const candidate =
          add("exit_nonzero_silent", Confidence::kPossible,
              "the command " + describe_wait_status(job.tool_status));
      candidate->order = SIZE_MAX;
      candidate->death = true;
      candidate->values["code"] =
          std::to_string(exit_code_for(job.tool_status));
    }
  }

  // What a program wrote of itself, so never proven.
  void read_collectives() {
    const bool stopped = std::any_of(
        evidence_.findings.begin(), evidence_.findings.end(),
        [](const auto& one) { return one.severity == Severity::kError; });
    if (stopped) return;
    for (const CollectiveEvidence& one : evidence_.collectives) {
      if (one.waits || one.ranks.empty()) continue;
      Candidate* const candidate =
          add("collective_mismatch", Confidence::kLikely, one.text);
      if (one.ranks.size() == 1) blame(*candidate, one.ranks.front());
      return;
    }
  }

  void read_findings() {
    const bool configuring = evidence_.job.phase == "discover";
    for (const Finding& finding : evidence_.findings) {
      if (finding.severity != Severity::kError) continue;
      const Rule* const rule = rules_.find(finding.code);
      const char* const otherwise =
          configuring ? "configuration_wrong" : "preflight_refused";
      // Ranks that are silent may be at work.
      const bool of_ranks = finding.code == "hang" || tells_of_rank(finding);
      Candidate* const candidate =
          add(rule == nullptr ? otherwise : rule->code,
              of_ranks ? Confidence::kLikely : Confidence::kProven,
              finding.evidence.empty() ? finding.text : finding.evidence);
      candidate->values["why"] = finding.text;
      candidate->values["remedy"] = finding.remedy;
      if (tells_of_rank(finding)) candidate->values["missing"] = finding.text;
      if (finding.rank >= 0) blame(*candidate, finding.rank);
    }
  }

  // Of a native start: who never came, and who left.
  static bool tells_of_rank(const Finding& finding) {
    return finding.code == "rank_missing" ||
           finding.code == "exit_without_finalize" ||
           finding.code == "rank_left_fence";
  }

  void blame(Candidate& candidate, int rank) const {
    candidate.rank = rank;
    if (const RankEvidence* known = find_rank(evidence_, rank)) {
      candidate.node = known->node;
      candidate.host = known->host;
    }
  }

  const Evidence& evidence_;
  const RuleBook& rules_;
  std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> fact_candidates(const Evidence& evidence,
                                       const RuleBook& rules) {
  return FactReader(evidence, rules).read();
}

}  // namespace muster
