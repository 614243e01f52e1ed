// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/launch_evidence.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace muster {

namespace {

RankOutcome outcome_of(RankState state) {
  switch (state) {
    case RankState::kStarting:
    case RankState::kRunning:
      return RankOutcome::kRunning;
    case RankState::kExited:
      return RankOutcome::kExited;
    case RankState::kNotStarted:
      return RankOutcome::kRefused;
    case RankState::kLost:
      return RankOutcome::kLost;
  }
  return RankOutcome::kUnknown;
}

RankEvidence describe(const RankRecord& record, bool mpirun) {
  RankEvidence rank;
  rank.rank = record.rank;
  rank.node = record.node;
  rank.host = record.host;
  rank.pid = record.pid;
  rank.outcome = outcome_of(record.state);
  rank.wait_status = record.exit.wait_status;
  rank.exit_ns = record.ended_ns;
  rank.stopped_by_us = record.after_stop;
  rank.oom_killed = record.exit.oom_killed;
  rank.loaded_mpi = record.exit.loaded_mpi;
  rank.lonely_mpi = record.exit.lonely_mpi;
  // mpirun gave it a world, which the wrong MPI does not see.
  rank.mpi_attached =
      mpirun ? rank.lonely_mpi.empty() : record.exit.mpi_attached;
  rank.mpi_finalized = record.exit.mpi_finalized;
  rank.max_rss_kib = record.exit.max_rss_kib;
  rank.world_size = record.world_size;
  if (record.state == RankState::kNotStarted) {
    rank.refusal = record.refusal.error;
    rank.refusal_exit_code = record.refusal.exit_code;
  }
  return rank;
}

// The number of failed ranks whose lines all rules examine.
constexpr int kReadWhole = 32;

bool failed_by_itself(const RankEvidence& rank) {
  return !rank.stopped_by_us &&
         (rank.wait_status != 0 || rank.outcome == RankOutcome::kRefused);
}

// nullptr: there was no tool, or it ended by itself.
const StuckRank* stuck_of(const JobRun& run, const RankRecord& record) {
  const auto found = run.stuck().find(record.key);
  const bool own_end = record.state == RankState::kExited && !record.after_stop;
  return found == run.stuck().end() || !found->second.sure || own_end
             ? nullptr
             : &found->second;
}

// Its program had ended in an exception; only MPI_Finalize kept it from exiting
// with 1, as Python does then. Our stop explains nothing.
void end_by_exception(const StuckRank& stuck, RankEvidence& rank) {
  constexpr int kExitOne = 1 << 8;
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = kExitOne;
  rank.exit_ns = stuck.raised_ns;
  rank.stopped_by_us = false;
}

}  // namespace

std::vector<RankEvidence> rank_evidence(const JobRun& run,
                                        const RankOutput& output,
                                        int planned_ranks) {
  std::vector<RankEvidence> out;
  std::set<int> seen;
  int read_whole = 0;
  for (const RankRecord& record : run.ranks().records()) {
    out.push_back(describe(record, run.tool().has_value()));
    const bool whole =
        failed_by_itself(out.back()) && ++read_whole <= kReadWhole;
    out.back().lines =
        output.last_lines(record.key, whole ? &RuleBook::built_in() : nullptr);
    if (const StuckRank* stuck = stuck_of(run, record)) {
      end_by_exception(*stuck, out.back());
    }
    seen.insert(record.rank);
  }
  for (int rank = 0; rank < planned_ranks; ++rank) {
    if (seen.count(rank) > 0) continue;
    RankEvidence missing;
    missing.rank = rank;
    missing.outcome = RankOutcome::kNeverStarted;
    out.push_back(std::move(missing));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

bool ended_by_exception(const JobRun& run) {
  const auto& records = run.ranks().records();
  return std::any_of(records.begin(), records.end(),
                     [&run](const RankRecord& record) {
                       return stuck_of(run, record) != nullptr;
                     });
}

std::vector<NodeEvidence> node_evidence(const Fleet& fleet,
                                        const PodRecords& pods,
                                        const std::vector<Laggard>& laggards) {
  std::vector<NodeEvidence> out;
  for (size_t i = 0; i < fleet.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    const auto found = pods.find(node);
    const PodRecord pod = found == pods.end() ? PodRecord{} : found->second;
    NodeEvidence entry;
    entry.node = node;
    entry.host = fleet.dialer(node).host();
    entry.outcome = NodeOutcome::kConnected;
    entry.told_to_leave = pod.leaves_first;
    if (pod.lost && !pod.leaves_first) {
      entry.outcome = NodeOutcome::kLost;
      entry.error = *pod.lost;
      entry.lost_ns = pod.lost_ns;
    }
    for (const Laggard& laggard : laggards) {
      if (laggard.node != node) continue;
      entry.outcome = NodeOutcome::kNeverReady;
      entry.step = laggard.step;
      entry.error = laggard.error;
    }
    entry.memory = pod.memory;
    if (!pod.memory.empty()) {
      entry.oom_kills_at_start = pod.memory.front().oom_kills;
    }
    entry.strain = pod.strain.strain();
    entry.xids = pod.xids.all();
    out.push_back(std::move(entry));
  }
  return out;
}

void add_rank_gpus(const Plan& plan, const JobBinding& binding,
                   std::vector<RankEvidence>& ranks) {
  for (const PlannedRank& planned : plan.ranks) {
    const auto node = static_cast<size_t>(planned.node);
    const auto rank = std::find_if(
        ranks.begin(), ranks.end(),
        [&planned](const auto& one) { return one.rank == planned.rank; });
    if (rank == ranks.end() || node >= binding.bound.size()) continue;
    for (const size_t gpu : binding.of(planned).gpus) {
      rank->gpus.push_back(binding.nodes[node].gpus[gpu].id);
    }
  }
}

void add_gpus(const NodeFacts& facts, const std::vector<EnvDecision>& env,
              NodeEvidence& node) {
  node.gpus = facts.gpu.count;
  node.gpu_driver = facts.cuda_driver;
  for (const EnvDecision& decision : env) {
    const bool names_gpus = decision.name == "CUDA_VISIBLE_DEVICES" ||
                            decision.name == "HIP_VISIBLE_DEVICES" ||
                            decision.name == "ROCR_VISIBLE_DEVICES";
    // The drivers read up to the first number that is not a device.
    if (names_gpus &&
        (trim(decision.value).empty() || decision.value.starts_with("-1") ||
         decision.value == "NoDevFiles")) {
      node.gpus_hidden_by = decision.name + "=" + decision.value;
    }
  }
}

void add_run(const JobRun& run, const RankOutput& output, JobEvidence& job) {
  job.stop_ns = run.stop_ns();
  job.time_limit_hit = run.stop_cause() == StopCause::kTimeLimit;
  job.start_deadline_hit = run.stop_cause() == StopCause::kStartDeadline;
  if (run.abort()) {
    job.mpi_abort = true;
    job.mpi_abort_code = run.abort()->code;
    job.mpi_abort_rank = run.abort()->rank;
  }
  if (run.tool_status()) {
    job.tool_ended = true;
    job.tool_status = *run.tool_status();
    job.tool_killed = run.tool_killed();
    job.tool_stopped_by_us = run.tool_stopped_by_us();
  }
  if (run.tool()) {
    job.tool_lines = output.last_lines(*run.tool(), &RuleBook::built_in());
  }
}

}  // namespace muster
