// SPDX-License-Identifier: Apache-2.0
// Phases "drain" and "report": the evidence, the verdict over it, and the
// farewell to the agents.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "diagnosis/log/last_progress.h"
#include "job/kubectl.h"
#include "launcher/plan/plan_text.h"
#include "launcher/report/report_topology.h"
#include "launcher/run/launch.h"
#include "launcher/run/launch_evidence.h"

namespace muster {

namespace {

constexpr Milliseconds kLeaveDeadline{3'000};
constexpr Milliseconds kDrainLimit{30'000};
constexpr Milliseconds kDrainSlice{200};

// The signal out of `forwarded` that ended the first rank that failed; 0:
// another cause. Ranks that died from it were stopped, not at fault.
int first_end_by(const std::set<int>& forwarded,
                 std::vector<RankEvidence>& ranks) {
  const RankEvidence* first = nullptr;
  for (const RankEvidence& rank : ranks) {
    if (rank.outcome != RankOutcome::kExited || rank.wait_status == 0 ||
        rank.stopped_by_us) {
      continue;
    }
    if (first == nullptr || rank.exit_ns < first->exit_ns) first = &rank;
  }
  if (first == nullptr || !WIFSIGNALED(first->wait_status)) return 0;
  const int signal = WTERMSIG(first->wait_status);
  if (forwarded.count(signal) == 0) return 0;
  for (RankEvidence& rank : ranks) {
    if (WIFSIGNALED(rank.wait_status) && WTERMSIG(rank.wait_status) == signal) {
      rank.stopped_by_us = true;
    }
  }
  return signal;
}

// A program that this pod has but cannot execute.
bool cannot_execute(const MpirunLine& line) {
  return std::any_of(line.apps.begin(), line.apps.end(),
                     [](const MpirunApp& app) {
                       struct stat file {};
                       return !app.argv.empty() &&
                              app.argv[0].find('/') != std::string::npos &&
                              ::stat(app.argv[0].c_str(), &file) == 0 &&
                              (S_ISDIR(file.st_mode) ||
                               ::access(app.argv[0].c_str(), X_OK) != 0);
                     });
}

}  // namespace

void Launch::fail(const Error& error) {
  if (state_ > LaunchState::kRunning) return;
  state_ = LaunchState::kReporting;
  failure_ = error;
  if (fleet_) fleet_->stop_connecting();
  if (survey_) survey_->cancel();
  report();
}

void Launch::begin_drain() {
  clock_.enter("drain");
  state_ = LaunchState::kDraining;
  drain_until_ = Clock::now() + kDrainLimit;
  drain();
}

// In slices: agents without messages for long take the launcher for lost.
void Launch::drain() {
  const bool written = output_->drain(kDrainSlice);
  if (!written && Clock::now() < drain_until_) {
    leave_timer_.start(Milliseconds{0}, [this] { drain(); });
    return;
  }
  if (!written) {
    const size_t left = output_->waiting_bytes();
    log::warn("{} does not take the ranks' output: gave up {} of it",
              output_->slow_reader(), human_bytes(left));
    output_->add_lost(left);
  }
  if (nccl_) nccl_->finish();
  tell(loaded_nccl_.finish());
  read_records();
}

// If a collective did not end, PyTorch's records of it show the missing rank.
void Launch::read_records() {
  if (run_ && diagnose(evidence()).code == "nccl_timeout") {
    run_->read_records([this] { report(); });
  } else {
    report();
  }
}

// A line for each pod, without its environment, which may hold anything.
std::string Launch::facts_json() const {
  std::string out;
  for (NodeFacts facts : facts_) {
    facts.environment.clear();
    out += (out.empty() ? "[" : ",\n") + to_readable_json(facts);
  }
  return out.empty() ? out : out + "]\n";
}

void Launch::show_early() {
  if (stop_signal_ != 0 && !preempted_) return;  // the sender knows why
  const Verdict verdict = judge(evidence(), options_);
  if (!verdict.failed() || verdict.code == "unknown") return;
  log::warn("so far: {} ({}, {}); the verdict follows when all have ended",
            verdict.headline, verdict.code, to_text(verdict.confidence));
}

void Launch::report() {
  state_ = LaunchState::kReporting;
  clock_.leave();
  early_.cancel();
  LaunchReport report;
  report.launch_id = launch_id_;
  report.bootstrap = bootstrap_name(agreement_.bootstrap);
  report.started_ns = started_ns_;
  report.ended_ns = realtime_ns();
  report.took = since(began_);
  report.phases = clock_.phases();
  report.evidence = evidence();
  report.verdict = judge(report.evidence, options_);
  fill_workers(report);
  report.fabric = agreement_.fabric.summary;
  report.settings = agreement_.fabric.reasons;
  if (!options_.bundle_directory.empty() && !agreement_.plan.nodes.empty()) {
    report.plan = output_->masked(plan_json(agreement_, discovery_, facts_));
    report.facts = output_->masked(facts_json());
  }
  if (output_) {
    report.lines = output_->lines();
    report.lost_output_bytes = output_->dropped_bytes();
    report.dropped_lines = output_->dropped_lines();
    report.cut_outputs = output_->cut_processes();
  }
  if (run_) report.forgotten_ranks = run_->ranks().forgotten();
  if (run_ && run_->first_rank_at()) {
    report.first_rank_ms = between(ready_at_, *run_->first_rank_at()).count();
    if (run_->all_ranks_at()) {
      report.all_ranks_ms = between(ready_at_, *run_->all_ranks_at()).count();
    }
  }
  announce(report, options_);
  exit_code_ = report.verdict.exit_code;
  const Verdict verdict = report.verdict;
  tell_end(verdict);
  writer_ = std::make_unique<ReportWriter>(loop_, std::move(report), options_);
  event_ = std::make_unique<VerdictEvent>(loop_, reaper_, agent_);
  event_->post(options_.event, verdict, discovery_.hostname,
               [this, failed = verdict.failed()] { hold_or_leave(failed); });
}

// The verdict has been published.
void Launch::hold_or_leave(bool failed) {
  const bool somebody = fleet_ && fleet_->ready_count() > 0;
  if (options_.hold_ms <= 0 || !failed || !somebody || stop_signal_ != 0) {
    say_goodbye(exit_code_ == 0);
    return;
  }
  const std::string name_space = namespace_of({}, own_namespace());
  log::info(
      "the pods stay up for {} (--hold-on-failure), to be looked into; SIGTERM "
      "to the launcher ends it. `kubectl get pods -n {}` shows them, `kubectl "
      "exec -it POD -n {} -- sh` opens one where the image has a shell",
      human_duration_ms(options_.hold_ms), name_space, name_space);
  state_ = LaunchState::kHolding;
  leave_timer_.start(Milliseconds{options_.hold_ms}, [this] { leave(); });
}

// Only a launch that ran something has progress to report.
void Launch::say_goodbye(bool success) {
  if (trainer_ && run_) {
    trainer_->finish(success, [this] { leave(); });
  } else {
    leave();
  }
}

// Reads the lowest rank that prints any; of a large job only the first ones.
// Never mixes ranks: a rank that is behind would take the job back.
std::string Launch::progress() const {
  constexpr int kLookedAt = 8;
  if (!run_) return {};
  std::map<int, std::string> said;
  for (const RankRecord& record : run_->ranks().records()) {
    if (record.rank < 0 || record.rank >= kLookedAt) continue;
    RankEvidence rank;
    rank.lines = output_->last_lines(record.key);
    std::string progress = last_progress({rank});
    if (!progress.empty()) said[record.rank] = std::move(progress);
  }
  return said.empty() ? "" : said.begin()->second;
}

void Launch::fill_workers(LaunchReport& report) const {
  if (!fleet_) return;
  for (const NodeEvidence& node : report.evidence.nodes) {
    const bool is_host = std::find(node_of_host_.begin(), node_of_host_.end(),
                                   node.node) != node_of_host_.end();
    if (!is_host) continue;
    const WorkerDialer& dialer =
        fleet_->dialer(static_cast<uint16_t>(node.node));
    WorkerReport worker;
    worker.name = node.host;
    worker.state = node.outcome == NodeOutcome::kConnected    ? "ready"
                   : node.outcome == NodeOutcome::kNeverReady ? "not_ready"
                                                              : "lost";
    if (node.outcome != NodeOutcome::kConnected) {
      worker.reason = node.error.text();
      worker.step = node.step;
    }
    if (dialer.connect_time().count() > 0) {
      worker.connect_ms = dialer.connect_time().count();
    }
    worker.ranks = ranks_on(report.evidence.ranks, node.node);
    const auto index = static_cast<size_t>(node.node);
    if (index < facts_.size()) {
      worker.machine = machine_text(facts_[index]);
      worker.drivers_age_ms = facts_[index].drivers_age_ms;
    }
    report.workers.push_back(std::move(worker));
  }
}

Evidence Launch::evidence() const {
  Evidence out;
  JobEvidence& job = out.job;
  job.phase = clock_.current();
  job.backend = bootstrap_name(agreement_.bootstrap);
  if (options_.once) job.backend = "once";
  job.argv = options_.command;
  if (output_) {
    for (std::string& word : job.argv) word = output_->masked(word);
  }
  job.world_size = agreement_.expected_ranks;
  job.workers = static_cast<int>(discovery_.hosts.size());
  job.name_space = own_namespace();
  job.not_executable = discovery_.line && cannot_execute(*discovery_.line);
  // A signal behind a rank's failure is not the cause.
  const bool failed = run_ && ended_by_exception(*run_);
  job.stop_signal = failed ? 0 : stop_signal_;
  job.preempted = preempted_ && !failed;
  job.connect_deadline_ms = options_.timeouts.connect_ms;
  job.start_deadline_ms = options_.timeouts.start_ms;
  job.time_limit_ms = options_.timeouts.run_ms;
  out.findings = findings_;
  if (run_) {
    add_run(*run_, *output_, job);
    out.ranks = rank_evidence(*run_, *output_, agreement_.expected_ranks);
    add_rank_gpus(agreement_.plan, agreement_.binding, out.ranks);
    if (run_->stop_cause() == StopCause::kPlacement) {
      out.findings.push_back({Severity::kError, "world_size_mismatch",
                              run_->stop_reason(), "", ""});
    }
    if (job.stop_signal == 0 && !failed) {
      job.stop_signal = first_end_by(forwarded_, out.ranks);
    }
    job.progress = last_progress(out.ranks);
    for (const FlightIssue& issue : run_->collectives()) {
      out.collectives.push_back({issue.text,
                                 {issue.odd.begin(), issue.odd.end()},
                                 issue.waits,
                                 issue.differs});
    }
    if (run_->hang() && run_->stop_cause() != StopCause::kHang) {
      out.findings.push_back(*run_->hang());
    }
    if (run_->stop_finding()) out.findings.push_back(*run_->stop_finding());
    if (run_->stalled()) out.findings.push_back(*run_->stalled());
  }
  const bool lost =
      std::any_of(pods_.begin(), pods_.end(),
                  [](const auto& pod) { return pod.second.lost.has_value(); });
  if (failure_ && laggards_.empty() && !lost && stop_signal_ == 0) {
    out.findings.push_back(finding_of(*failure_));
  }
  if (fleet_) {
    out.nodes = node_evidence(*fleet_, pods_, laggards_);
    for (size_t i = 0; i < std::min(out.nodes.size(), facts_.size()); ++i) {
      add_gpus(facts_[i],
               i < agreement_.env.size() ? agreement_.env[i].decisions
                                         : std::vector<EnvDecision>{},
               out.nodes[i]);
    }
  }
  return out;
}

void Launch::leave() {
  state_ = LaunchState::kLeaving;
  if (!fleet_) {
    loop_.stop();
    return;
  }
  fleet_->send_all(
      wire::FrameType::kBye,
      wire::to_json(wire::ByeMessage{exit_code_ == 0 && !options_.dry_run}));
  leave_timer_.start(kLeaveDeadline, [this] { loop_.stop(); });
  if (fleet_->ready_count() == 0) loop_.stop();
}

}  // namespace muster
