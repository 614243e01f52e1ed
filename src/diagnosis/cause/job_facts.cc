// SPDX-License-Identifier: Apache-2.0
// The launcher's actions and observations: limits, signals, MPI_Abort, the end
// of mpirun, and the findings that stopped the job.
#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "diagnosis/cause/fact_list.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

// Its daemons then end their ranks, which is not a cause of its own.
void read_killed_tool(FactList& facts) {
  const JobEvidence& job = facts.evidence().job;
  if (!job.tool_killed) return;
  const std::string tool = job.argv.empty()
                               ? "the command"
                               : job.argv[0].substr(job.argv[0].rfind('/') + 1);
  Candidate* const candidate =
      facts.add("sigkill_unexplained", Confidence::kPossible,
                tool + " " + describe_wait_status(job.tool_status));
  candidate->values["who"] = tool;
  candidate->values["tool"] = tool;
  for (const RankEvidence& rank : facts.evidence().ranks) {
    if (rank.outcome != RankOutcome::kExited || rank.wait_status == 0 ||
        rank.exit_ns <= 0) {
      continue;
    }
    const int64_t before = rank.exit_ns - 1;
    candidate->time_ns =
        candidate->time_ns == 0 ? before : std::min(candidate->time_ns, before);
  }
}

// For a native start: the ranks that never came, and those that left.
bool tells_of_rank(const Finding& finding) {
  return finding.code == "rank_missing" ||
         finding.code == "exit_without_finalize" ||
         finding.code == "rank_left_fence";
}

void read_findings(FactList& facts) {
  const bool configuring = facts.evidence().job.phase == "discover";
  for (const Finding& finding : facts.evidence().findings) {
    if (finding.severity != Severity::kError) continue;
    const Rule* const rule = facts.rules().find(finding.code);
    const char* const otherwise =
        configuring ? "configuration_wrong" : "preflight_refused";
    // Ranks that are silent may be at work.
    const bool of_ranks = finding.code == "hang" || tells_of_rank(finding);
    Candidate* const candidate =
        facts.add(rule == nullptr ? otherwise : rule->code,
                  of_ranks ? Confidence::kLikely : Confidence::kProven,
                  finding.evidence.empty() ? finding.text : finding.evidence);
    candidate->values["why"] = finding.text;
    candidate->values["remedy"] = finding.remedy;
    if (tells_of_rank(finding)) candidate->values["missing"] = finding.text;
    if (finding.rank >= 0) facts.blame(*candidate, finding.rank);
  }
}

// From a program's own line, so never proven.
void read_collectives(FactList& facts) {
  const bool stopped = std::any_of(
      facts.evidence().findings.begin(), facts.evidence().findings.end(),
      [](const auto& one) { return one.severity == Severity::kError; });
  if (stopped) return;
  const auto& collectives = facts.evidence().collectives;
  if (collectives.empty() || !collectives.front().differs) return;
  const CollectiveEvidence& first = collectives.front();
  Candidate* const candidate =
      facts.add("collective_mismatch", Confidence::kLikely, first.text);
  if (first.ranks.size() == 1) facts.blame(*candidate, first.ranks.front());
}

void read_stops(const JobEvidence& job, FactList& facts) {
  if (job.time_limit_hit) {
    facts
        .add("timeout_walltime", Confidence::kProven,
             "the launcher ended the job at its time limit" +
                 (job.time_limit_ms < 0
                      ? std::string()
                      : " of " + human_duration_ms(job.time_limit_ms)))
        ->time_ns = job.stop_ns;
  }
  if (job.preempted) {
    facts
        .add("pod_terminated", Confidence::kProven,
             "the launcher's pod got SIGTERM from outside its container")
        ->time_ns = job.preempted_ns;
  }
  if (job.stop_signal != 0 && !job.preempted) {
    const std::string signal = signal_word(job.stop_signal);
    facts
        .add("interrupted", Confidence::kProven,
             job.stop_signal == SIGPIPE ? "the reader of stdout has hung up"
                                        : "the launcher got " + signal)
        ->values["signal"] = signal;
  }
  if (job.start_deadline_hit) {
    facts.add("start_timeout", Confidence::kLikely,
              "the launcher gave up waiting for MPI_Init");
  }
}

void read_abort(const JobEvidence& job, FactList& facts) {
  if (!job.mpi_abort) return;
  Candidate* const candidate =
      facts.add("mpi_abort_by_user", Confidence::kLikely,
                "MPI_Abort with code " + std::to_string(job.mpi_abort_code));
  candidate->values["code"] = std::to_string(job.mpi_abort_code);
  facts.blame(*candidate, job.mpi_abort_rank);
  if (const RankEvidence* rank =
          find_rank(facts.evidence(), job.mpi_abort_rank)) {
    candidate->order = SIZE_MAX - 1;
    candidate->time_ns = rank->exit_ns;
  }
}

void read_lone_worlds(const JobEvidence& job, FactList& facts) {
  constexpr int64_t kAfterAll = int64_t{1} << 60;
  if (job.lone_worlds <= 0) return;
  const std::string count = std::to_string(job.lone_worlds);
  Candidate* const candidate =
      facts.add("world_size_mismatch", Confidence::kPossible,
                count +
                    " processes say one after the other that they are rank "
                    "0 of 1");
  candidate->values["world"] = "1";
  candidate->time_ns = kAfterAll;  // the cause, whatever else failed
}

// If no rank was heard of.
void read_tool(const JobEvidence& job, FactList& facts) {
  if (!job.tool_ended || job.tool_status == 0 ||
      !facts.evidence().ranks.empty()) {
    return;
  }
  Candidate* const candidate =
      facts.add("exit_nonzero_silent", Confidence::kPossible,
                "the command " + describe_wait_status(job.tool_status));
  candidate->order = SIZE_MAX;
  candidate->death = true;
  candidate->values["code"] = std::to_string(exit_code_for(job.tool_status));
}

}  // namespace

void read_job(FactList& facts) {
  const JobEvidence& job = facts.evidence().job;
  read_killed_tool(facts);
  read_stops(job, facts);
  read_abort(job, facts);
  read_lone_worlds(job, facts);
  read_tool(job, facts);
  read_findings(facts);
  read_collectives(facts);
}

}  // namespace muster
