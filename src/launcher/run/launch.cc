// SPDX-License-Identifier: Apache-2.0
// The launch's frame: what must exist before the first connection, and the
// events that may come at any time: frames, lost workers, signals, questions
// about the state.
#include "launcher/run/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/fd.h"
#include "base/forwarded_signals.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/random.h"
#include "base/self_path.h"
#include "base/text.h"
#include "job/exit_codes.h"
#include "job/output_files.h"
#include "launcher/options/mpirun_words.h"
#include "launcher/output/log_choice.h"
#include "launcher/report/bundle.h"
#include "launcher/run/launch_evidence.h"
#include "launcher/run/launch_status.h"

namespace muster {

namespace {

constexpr Milliseconds kLastWords{5'000};
constexpr int kMostReconnects = 3;
constexpr Milliseconds kHurriedReport{1'000};  // someone waits for the exit
// The logs that --bundle keeps: 128 MiB a stream.
constexpr LogRotation kBundleRotation{64 << 20, 1};

// The kernel sent the signal for a limit of the launcher's own process. A
// signal that a user sends is for the ranks.
bool is_own_limit(const signalfd_siginfo& info) {
  return info.ssi_code == SI_KERNEL &&
         (info.ssi_signo == SIGXCPU || info.ssi_signo == SIGXFSZ);
}

}  // namespace

Launch::Launch(Loop& loop, LaunchOptions options, Discovery discovery)
    : loop_(loop),
      options_(std::move(options)),
      discovery_(std::move(discovery)),
      launch_id_(random_id()),
      started_ns_(realtime_ns()),
      reaper_(loop),
      signals_(loop, launch_signals().all(),
               [this](const signalfd_siginfo& info) { on_signal(info); }),
      mesh_(loop),
      leave_timer_(loop),
      early_(loop),
      status_timer_(loop) {}

Launch::~Launch() {
  remove_abandoned(launch_id_ + "-n");  // of agents of ours that were
  if (writer_) {
    writer_->finish(hurried_ ? kHurriedReport : kReportLimit,
                    launch_signals().ending);
  }
  if (!output_) return;
  output_->drain(kLastWords);
  log::redirect({});
}

void Launch::start() {
  if (auto prepared = prepare(); !prepared) {
    fail(prepared.error());
    return;
  }
  const Mesh mesh = mesh_of(options_.mesh);
  if (mesh != Mesh::kNone) clock_.enter("mesh");
  mesh_.start(mesh, Milliseconds{options_.timeouts.connect_ms},
              [this](const Status& ready) {
                if (state_ != LaunchState::kStarting) return;
                if (ready) return connect();
                fail(ready.error());
              });
}

Status Launch::prepare() {
  auto agent = agent_path();
  if (!agent) return muster::fail(agent.error());
  agent_ = std::move(*agent);
  remove_abandoned("");  // of launchers and agents that were killed
  auto directory = RuntimeDir::create_owned("run-" + launch_id_);
  if (!directory) return muster::fail(directory.error());
  directory_ = std::move(*directory);
  end_file_.reset(::open((directory_.path() + "/end.json").c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  OutputFiles files;
  if (discovery_.line) files = output_files(*discovery_.line);
  if (options_.log_directory.empty()) options_.log_directory = files.directory;
  OutputOptions output = choose_output(options_);
  output.only_files = files.only;
  if (output.directory.empty() && !options_.bundle_directory.empty() &&
      !options_.dry_run) {
    const std::string logs =
        bundle_folder(options_.bundle_directory, launch_id_) + "/logs";
    // On failure: the error of the bundle is reported below.
    if (prepare_log_directory(logs)) output.directory = logs;
    if (options_.log_rotate.empty()) output.rotation = kBundleRotation;
  }
  if (!options_.log_directory.empty() && !options_.dry_run) {
    auto folder = LogFolder::claim(options_.log_directory, launch_id_);
    if (!folder) return muster::fail(folder.error());
    log_folder_ = std::move(*folder);
    options_.log_directory = output.directory = log_folder_.path();
  }
  output_ = std::make_unique<RankOutput>(
      loop_, std::move(output),
      [this](ProcessKey key, uint8_t stream, uint32_t bytes) {
        fleet_->send(key.node, wire::FrameType::kOutputCredit, key.id,
                     wire::u32_payload(bytes), stream);
      });
  // "mpirun … | head" at a terminal ends as with any mpirun; a pod's log may
  // lose its reader and a job of days goes on.
  if (options_.drop_in && ::isatty(STDERR_FILENO) == 1) {
    output_->on_reader_gone([this] { reader_gone(); });
  }
  if (auto learnt = learn_secrets(); !learnt) return learnt;
  if (options_.metrics_port > 0) {
    metrics_ = std::make_unique<MetricsServer>(
        loop_, [this] { return metrics_text(status()); });
    if (auto serving = metrics_->listen(options_.metrics_port); !serving) {
      return serving;
    }
  }
  check_report_places(options_);
  if (!options_.bundle_directory.empty() && !options_.dry_run) {
    const auto ready = prepare_log_directory(options_.bundle_directory);
    if (!ready) {
      log::warn("{}: the bundle will be lost: {}", options_.bundle_directory,
                ready.error().why);
    }
  }
  if (options_.post_progress) {
    trainer_ = TrainerProgress::create(loop_, reaper_, agent_,
                                       [this] { return progress(); });
  }
  // From here on a stderr without a reader cannot block the loop.
  log::redirect([this, here = std::this_thread::get_id()](std::string line) {
    if (std::this_thread::get_id() == here) {
      output_->own_line(std::move(line));
    } else {
      loop_.post([this, line = std::move(line)]() mutable {
        output_->own_line(std::move(line));
      });
    }
  });
  return {};
}

void Launch::heartbeat(uint16_t node, const wire::Frame& frame) {
  const auto sample = wire::from_json<wire::HealthSample>(frame.payload);
  if (!sample) return;
  PodRecord& pod = pods_[node];
  keep_sample(pod.memory,
              {realtime_ns(), sample->memory_bytes, sample->memory_limit,
               sample->memory_peak, sample->oom_kills});
  if (const auto used = wire::pod_counters_from_json(frame.payload)) {
    pod.counters = *used;
    pod.strain.add(Clock::now(), *used);
    if (run_) {
      for (const wire::RankUse& rank : used->ranks) {
        histories_[{node, rank.id}].used(used->ranks_at_ms, rank);
      }
    }
    for (const XidEvidence& xid : pod.xids.add(used->xids, realtime_ns())) {
      log::warn("{}", xid_line(fleet_->dialer(node).host(), xid));
    }
    if (!used->nccl_version.empty() && node < facts_.size()) {
      const std::set<uint16_t> pods(node_of_host_.begin(), node_of_host_.end());
      tell(loaded_nccl_.add(
          {fleet_->dialer(node).host(), used->nccl_rank, used->nccl_version,
           used->nccl_path, facts_[node].nccl_version},
          pods.size(), Clock::now()));
    }
  }
}

void Launch::tell(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    log::warn("{}. {}", finding.text,
              options_.drop_in ? for_mpirun(finding.remedy) : finding.remedy);
    findings_.push_back(finding);
  }
}

void Launch::answered(uint16_t node, const wire::Frame& frame) {
  if (run_) return;
  if (frame.id == kFactsQuestion) known_facts_[node] = frame.payload;
  if (frame.id == kListenQuestion) known_ports_[node] = frame.payload;
  // Drops late answers to an earlier question.
  if (frame.id == question_) survey_->answer(node, frame.payload);
}

void Launch::on_lost(uint16_t node, Error error) {
  if (state_ == LaunchState::kDraining) return;  // all ranks have ended
  if (state_ > LaunchState::kDraining) {
    if (fleet_->ready_count() == 0) loop_.stop();
    return;
  }
  if (!run_ && reconnect(node, error)) return;
  PodRecord& pod = pods_[node];
  pod.lost = error;
  pod.lost_ns = realtime_ns();
  if (!pod.leaves) log::error("{}", error.text());
  if (run_) {
    run_->node_lost(node, error);
    return;
  }
  fail(Error{"worker_lost",
             "a worker was lost before ranks were started",
             error.text(),
             {},
             error.hint});
}

bool Launch::reconnect(uint16_t node, const Error& error) {
  const Milliseconds left =
      Milliseconds{options_.timeouts.connect_ms} - since(began_);
  if (left.count() <= 0 || pods_[node].leaves_first ||
      ++reconnects_ > kMostReconnects) {
    return false;
  }
  log::warn("{}; it ran nothing yet and is connected again", error.text());
  survey_->cancel();
  question_ = 0;
  clock_.enter("connect");
  fleet_->reconnect(left);
  return true;
}

// Stops the job at once, since a checkpoint may need all ranks. A pod that
// leaves while the job is being stopped is not the cause.
void Launch::on_leaving(uint16_t node) {
  if (state_ > LaunchState::kRunning) return;
  PodRecord& pod = pods_[node];
  pod.leaves = true;
  if (run_ && run_->stop_cause() != StopCause::kNone &&
      run_->stop_cause() != StopCause::kPodLeaves) {
    return;
  }
  pod.leaves_first = true;
  if (run_) {
    run_->stop(StopCause::kPodLeaves,
               fleet_->dialer(node).host() + " is told to leave");
  }
}

void Launch::on_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (is_own_limit(info)) {
    // Too large a file is also an error of the write; a limit of CPU time has
    // no such error and ends in a SIGKILL.
    if (signal == SIGXFSZ) return;
  } else if (is_forwarded(signal)) {
    return forward(signal);
  }
  if (signal == SIGTTOU) return;
  if (signal == SIGTSTP) {
    log::warn(
        "Ctrl-Z does not stop a launcher: its workers would take it for dead. "
        "Ctrl-C ends the job");
    return;
  }
  if (state_ == LaunchState::kHolding) return leave();
  if (state_ == LaunchState::kDraining) {  // the sender will not wait for it
    drain_until_ = Clock::now();
    return;
  }
  hurried_ = writer_ != nullptr;
  const bool again = stop_signal_ != 0;
  if (!again) {
    stop_signal_ = signal;
    // The kubelet is outside of our pid namespace: its pid reads 0 here.
    preempted_ = signal == SIGTERM && info.ssi_pid == 0;
  }
  const std::string name = signal_word(signal);
  if (run_) {
    run_->stop(StopCause::kSignal,
               name + (preempted_         ? " from outside the pod"
                       : signal == SIGINT ? " came (a second one kills at once)"
                                          : " came"),
               again);
  } else if (state_ == LaunchState::kStarting) {
    fail(Error{"stopped",
               "stopped before ranks were started",
               name + " came",
               {},
               {}});
  } else if (again) {
    loop_.stop();
  }
}

void Launch::forward(int signal) {
  if (state_ != LaunchState::kRunning) return note_unheard(signal);
  log::write(is_harmless(signal) ? log::Level::kDebug : log::Level::kInfo,
             signal_word(signal) + " came and goes to all ranks");
  forwarded_.insert(signal);
  run_->signal_ranks(signal);
}

void Launch::reader_gone() {
  if (!run_ || stop_signal_ != 0) return;
  stop_signal_ = SIGPIPE;
  run_->stop(StopCause::kSignal, "stdout has no reader any more", false);
}

JobStatus Launch::status() const {
  JobStatus out;
  out.launch_id = launch_id_;
  out.phase = clock_.current();
  out.bootstrap = bootstrap_name(agreement_.bootstrap);
  out.command = output_->masked(join(options_.command, " "));
  out.started_ns = started_ns_;
  out.written_ns = realtime_ns();
  out.written_at_ms = steady_ms();
  out.job_ms = since(began_).count();
  out.phase_ms = clock_.elapsed().count();
  out.phase_started_ns = out.written_ns - out.phase_ms * 1'000'000;
  out.lines = output_->lines();
  out.dropped_lines = output_->dropped_lines();
  out.lost_output_bytes = output_->dropped_bytes();
  out.stalled_ms = output_->stalled().count();
  out.ended = ended_;
  if (fleet_) out.workers = worker_status(*fleet_, node_of_host_, pods_);
  if (run_) {
    out.ranks = rank_status(*run_, histories_);
    mark_stragglers(out);
    out.forgotten_ranks = static_cast<int64_t>(run_->ranks().forgotten());
  }
  return out;
}

// For `muster status`, `ps` and `top` in another shell of this pod.
void Launch::write_status() {
  // Of thousands of ranks it is long: then it comes later, at a hundredth of
  // this thread's time.
  constexpr Milliseconds kLatest{5'000};
  const auto began = Clock::now();
  if (run_) {
    see_ranks(*run_, *output_, pods_,
              rank_gpus(agreement_.plan, agreement_.binding), histories_);
  }
  const JobStatus now = status();
  static_cast<void>(
      write_file_atomically(directory_.path() + "/status.json", to_json(now)));
  status_timer_.start(std::max(Milliseconds{status_interval_ms(now.job_ms)},
                               std::min(kLatest, since(began) * 100)),
                      [this] { write_status(); });
}

void Launch::tell_end(const Verdict& verdict) {
  if (directory_.path().empty() || !output_) return;  // no status file
  ended_ = JobEnd{exit_code_, verdict.code, output_->masked(verdict.headline)};
  write_status();
  static_cast<void>(write_all(end_file_.get(), to_json(status())));
}

}  // namespace muster
