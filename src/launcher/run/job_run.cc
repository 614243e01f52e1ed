// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/job_run.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

// mpirun usually ends the other ranks by itself; Hydra may hang instead.
constexpr Milliseconds kToolSettles{500};
// mpirun's time to leave when asked, before a signal.
constexpr int kToolEnds = 2'000;
// The time that a failed rank's children have to print before they are stopped.
constexpr int kChildrenEnd = 500;
// After the backend's end, starts and exits of ranks on other hosts may still
// be on their way.
constexpr Milliseconds kLateExits{2'000};
// On top of the grace: agents report a process that hangs inside the kernel
// after 10 s. They watch a process that gets no CPU to end on without us.
constexpr Milliseconds kStopSlack{12'000};

// A script may call mpirun a thousand times. The launcher keeps at most this
// many ranks that ended well: each takes up to 14 KiB of argv, and a place in
// every status.
constexpr size_t kEndedWell = 4'096;

bool failed(int wait_status) { return wait_status != 0; }

// By our clock, though we hear of it later.
int64_t ended_at_ns(const wire::Exited& exit) {
  constexpr int64_t kMostMs = 60'000;
  return realtime_ns() -
         std::clamp<int64_t>(exit.ended_ms_ago, 0, kMostMs) * 1'000'000;
}

// mpirun ends the remaining ranks with these when one has failed.
bool may_be_mpiruns(const wire::Exited& exit) {
  return WIFSIGNALED(exit.wait_status) && !exit.oom_killed &&
         (WTERMSIG(exit.wait_status) == SIGKILL ||
          WTERMSIG(exit.wait_status) == SIGTERM);
}

// The ranks were well when stopped, and may have work to save.
bool may_save(StopCause cause) {
  return cause == StopCause::kSignal || cause == StopCause::kTimeLimit ||
         cause == StopCause::kHang || cause == StopCause::kPodLeaves;
}

}  // namespace

JobRun::JobRun(Loop& loop, Fleet& fleet, RankOutput& output, RunOptions options,
               std::function<void()> on_done)
    : loop_(loop),
      fleet_(fleet),
      output_(output),
      options_(std::move(options)),
      on_done_(std::move(on_done)),
      start_deadline_(loop),
      time_warning_(loop),
      time_limit_(loop),
      settle_(loop),
      give_up_(loop),
      hang_(
          loop, fleet, output, ranks_, options_.hang,
          [this](const Error& error, int rank) {
            stop_for(StopCause::kHang, error, rank);
          },
          [this](const StuckRank& one) {
            stop(StopCause::kRankFailed, stuck_text({one}));
          }) {
  listen();
}

void JobRun::listen() {
  fleet_.on(wire::FrameType::kStopped,
            [this](uint16_t node, const wire::Frame& /*frame*/) {
              node_stopped(node);
            });
  fleet_.on(wire::FrameType::kOutput,
            [this](uint16_t node, const wire::Frame& frame) {
              output_.frame({node, frame.id}, frame);
            });
  fleet_.on(wire::FrameType::kStdinCredit,
            [this](uint16_t node, const wire::Frame& frame) {
              const auto bytes = wire::parse_u32(frame.payload);
              if (stdin_ == nullptr || !bytes) return;
              stdin_->credit({node, frame.id}, *bytes);
            });
}

void JobRun::start(const MakeBackend& make_backend, StdinPump* stdin_pump) {
  stdin_ = stdin_pump;
  backend_ = make_backend(backend_events());
  arm_deadlines();
  backend_->start();
  hang_.start();
}

BackendEvents JobRun::backend_events() {
  BackendEvents events;
  events.on_rank_starting = [this](RankRecord record) {
    rank_starting(std::move(record));
  };
  events.on_rank_running = [this](ProcessKey key, int pid) {
    rank_running(key, pid);
  };
  events.on_rank_refused = [this](ProcessKey key,
                                  const wire::StartFailed& refusal) {
    rank_refused(key, refusal);
  };
  events.on_rank_exited = [this](ProcessKey key, const wire::Exited& exit) {
    rank_exited(key, exit);
  };
  events.on_tool_output = [this](ProcessKey key, std::string source) {
    tool_ = key;
    output_.add_process(key, -1, std::move(source),
                        fleet_.dialer(key.node).host());
  };
  events.on_rank_aborted = [this](ProcessKey key, int code,
                                  const std::string& message) {
    rank_aborted(key, code, message);
  };
  events.on_world_broken = [this](const Error& error, int rank) {
    stop_for(StopCause::kWorldBroken, error, rank);
  };
  events.on_failed = [this](const Error& error) {
    finished_ = true;
    stop_for(StopCause::kBackendFailed, error);
  };
  events.on_finished = [this](auto& tool) { backend_finished(tool); };
  events.on_wants_stdin = [this](ProcessKey key) {
    if (stdin_ != nullptr) stdin_->add_target(key);
  };
  return events;
}

void JobRun::arm_deadlines() {
  const Timeouts& t = options_.timeouts;
  if (t.start_ms > 0 && options_.check_start) {
    start_deadline_.start(Milliseconds{t.start_ms}, [this] {
      const size_t running =
          ranks_.records().size() - ranks_.count(RankState::kStarting);
      stop(StopCause::kStartDeadline,
           std::to_string(running) + " of " +
               (options_.expected_ranks < 0
                    ? std::string("an unknown number of")
                    : std::to_string(options_.expected_ranks)) +
               " ranks had started after " +
               human_duration_ms(options_.timeouts.start_ms));
    });
  }
  if (t.run_ms <= 0) return;
  time_warning_.start(Milliseconds{t.run_ms / 5 * 4}, [this] {
    log::warn("80 % of the time limit of {} is used up",
              human_duration_ms(options_.timeouts.run_ms));
  });
  time_limit_.start(Milliseconds{t.run_ms}, [this] { time_is_up(); });
}

void JobRun::time_is_up() {
  const std::string what = "the time limit of " +
                           human_duration_ms(options_.timeouts.run_ms) +
                           " was reached";
  if (options_.warn_at_limit) {
    log::warn("{}; the job goes on, as --timeout-action warn says", what);
    return;
  }
  if (options_.checkpoint_signal == 0) {
    stop(StopCause::kTimeLimit, what);
    return;
  }
  log::warn("{}: the ranks get {} and {} to save and end", what,
            signal_word(options_.checkpoint_signal),
            human_duration_ms(options_.timeouts.grace_ms));
  saving_ = true;
  signal_ranks(options_.checkpoint_signal);
  time_limit_.start(Milliseconds{options_.timeouts.grace_ms},
                    [this, what] { stop(StopCause::kTimeLimit, what); });
}

void JobRun::rank_starting(RankRecord record) {
  output_.add_process(record.key, record.rank, "", record.host);
  check_world(ranks_.add(std::move(record)));
}

void JobRun::rank_running(ProcessKey key, int pid) {
  RankRecord* record = ranks_.find(key);
  if (record == nullptr) return;
  record->pid = pid;
  if (record->state == RankState::kStarting) {
    record->state = RankState::kRunning;
  }
  if (!first_rank_at_) first_rank_at_ = Clock::now();
  const size_t expected =
      options_.expected_ranks >= 0
          ? static_cast<size_t>(options_.expected_ranks)
          : static_cast<size_t>(std::max(record->world_size, 1));
  if (!all_ranks_at_ &&
      ranks_.records().size() - ranks_.count(RankState::kStarting) >=
          expected) {
    all_ranks_at_ = Clock::now();
    start_deadline_.cancel();
    // Only a native start sees what their MPI does then.
    if (options_.has_tool && options_.expected_ranks > 1) {
      log::info("all {} ranks are running", options_.expected_ranks);
    }
  }
}

void JobRun::check_world(const RankRecord& record) {
  if (options_.expected_ranks < 0) return;
  const std::string who =
      "rank " + std::to_string(record.rank) + " on " + record.host;
  if (record.world_size >= 0 && record.world_size != options_.expected_ranks) {
    stop(StopCause::kPlacement,
         who + " sees a world of " + std::to_string(record.world_size) +
             " ranks instead of " + std::to_string(options_.expected_ranks));
    return;
  }
  if (!options_.rank_nodes.empty() &&
      options_.rank_nodes.count(record.node) == 0) {
    stop(StopCause::kPlacement,
         who + " was started on a host that is not in the hostfile");
  }
}

// Called once, or twice: when a rank has failed while a child of its own holds
// its output open (draining), and when that child has ended, too.
void JobRun::rank_exited(ProcessKey key, const wire::Exited& exit) {
  RankRecord* record = ranks_.find(key);
  if (record == nullptr) return;
  const bool first = record->state != RankState::kExited;
  if (first && exit.draining && stopping_) return;  // nobody waits for it now
  output_.add_lost(exit.bytes_lost);
  if (!first) return;
  note_end(*record, exit);
  if (stdin_ != nullptr) stdin_->remove_target(key);
  if (failed(exit.wait_status)) {
    rank_failed(*record);
  } else {
    ended_well(key);
  }
  if (!failed_saving_.empty() && ranks_.all_ended()) {
    stop(StopCause::kRankFailed, failed_saving_);
  }
  consider_end();
}

void JobRun::note_end(RankRecord& record, const wire::Exited& exit) {
  int64_t ended_ns = ended_at_ns(exit);
  // The time that a child held its output open says little then: on a busy
  // machine the failure that caused it may have taken as long to arrive.
  if (options_.has_tool && may_be_mpiruns(exit)) {
    ended_ns = std::max(ended_ns, first_failed_ns_ + 1);
  }
  if (failed(exit.wait_status) && first_failed_ns_ == 0) {
    first_failed_ns_ = ended_ns;
    first_failed_node_ = record.node;
  }
  ranks_.ended(record, RankState::kExited, ended_ns);
  record.exit = exit;
  // A rank that ends after our stop is not the cause, with three exceptions: a
  // rank that called MPI_Abort and waits to be killed, one that ended before
  // the stop and is reported late, and one with the code that mpirun ended
  // with.
  const bool told_by_tool =
      stop_cause_ == StopCause::kToolFailed && tool_status_ == exit.wait_status;
  const bool before = exit.ended_ms_ago > 0 && record.ended_ns < stop_ns_;
  record.after_stop = gave_up_.count(record.node) > 0 ||
                      (stopping_ && !before && !exit.aborted && !told_by_tool);
}

void JobRun::rank_failed(const RankRecord& record) {
  const std::string reason = "rank " + std::to_string(record.rank) + " on " +
                             record.host + " " +
                             describe_wait_status(record.exit.wait_status);
  log::debug("{}", reason);
  if (stop_cause_ != StopCause::kNone) return;
  if (options_.has_tool) {
    stop_soon(StopCause::kRankFailed, reason);
  } else if (!saving_) {
    stop(StopCause::kRankFailed, reason);
  } else if (failed_saving_.empty()) {
    failed_saving_ = reason;
  }
}

// The first caller's reason wins.
void JobRun::stop_soon(StopCause cause, const std::string& reason) {
  if (settle_.pending()) return;
  settle_.start(kToolSettles, [this, cause, reason] { stop(cause, reason); });
}

void JobRun::ended_well(ProcessKey key) {
  ended_well_.push_back(key);
  if (ended_well_.size() <= kEndedWell) return;
  output_.forget(ended_well_.front());
  if (options_.expected_ranks < 0) ranks_.forget(ended_well_.front());
  ended_well_.pop_front();
}

void JobRun::rank_aborted(ProcessKey key, int code,
                          const std::string& message) {
  const RankRecord* record = ranks_.find(key);
  if (record == nullptr || stop_cause_ != StopCause::kNone) return;
  const std::string reason =
      "rank " + std::to_string(record->rank) + " on " + record->host +
      " called MPI_Abort with code " + std::to_string(code) +
      (message.empty() ? "" : ": " + output_.masked(message));
  log::error("{}", reason);
  if (!abort_) abort_ = RankAbort{record->rank, code};
  // The rank's own exit, which carries the code, is on its way.
  stop_soon(StopCause::kRankFailed, reason);
}

void JobRun::rank_refused(ProcessKey key, const wire::StartFailed& refusal) {
  RankRecord* record = ranks_.find(key);
  if (record == nullptr) return;
  ranks_.ended(*record, RankState::kNotStarted, realtime_ns());
  record->refusal = refusal;
  if (stdin_ != nullptr) stdin_->remove_target(key);
  stop(StopCause::kRankRefused,
       "rank " + std::to_string(record->rank) + " on " + record->host +
           " was not started: " + refusal.error.text());
}

void JobRun::backend_finished(const wire::Exited& tool) {
  const int tool_status = tool.wait_status;
  finished_ = true;
  if (options_.has_tool) {
    tool_status_ = tool_status;
    const bool ours = stop_ns_ > 0 && ended_at_ns(tool) >= stop_ns_;
    tool_stopped_ = ours;
    tool_killed_ =
        !ours && WIFSIGNALED(tool_status) && WTERMSIG(tool_status) == SIGKILL;
  }
  start_deadline_.cancel();
  time_limit_.cancel();
  if (stop_cause_ == StopCause::kNone && failed(tool_status)) {
    stop_soon(StopCause::kToolFailed,
              options_.tool + " " + describe_wait_status(tool_status));
  }
  // A stop has its own limit, also for later events.
  if (!stopping_) give_up_.start(kLateExits, [this] { end(); });
  consider_end();
}

void JobRun::node_lost(uint16_t node, const Error& error) {
  ranks_.lose_node(node, realtime_ns());
  output_.node_lost(node);
  if (!ended_) stop(StopCause::kWorkerLost, error.text());
  if (backend_) backend_->node_lost(node);
  node_stopped(node);
}

// While the launcher stood still, mpirun may have ended the ranks of workers
// that waited longer, and we may read their ends first. They are not the cause.
// A rank of the same worker is: an agent gives up before it ends its ranks, and
// its frames arrive in order.
void JobRun::worker_gave_up(uint16_t node) {
  constexpr int64_t kReadTogetherNs = 2'000'000'000;
  gave_up_.insert(node);
  const bool after_it = stop_cause_ == StopCause::kRankFailed ||
                        stop_cause_ == StopCause::kToolFailed ||
                        stop_cause_ == StopCause::kWorkerLost;
  const bool first = stop_cause_ == StopCause::kNone ||
                     (after_it && first_failed_node_ != node &&
                      realtime_ns() - stop_ns_ < kReadTogetherNs);
  if (ended_ || stalled_ || !first) return;
  const std::string& host = fleet_.dialer(node).host();
  stalled_ = Finding{Severity::kError,
                     "launcher_silent",
                     host +
                         " heard nothing from this launcher for too long "
                         "and ended its ranks",
                     "",
                     "",
                     -1};
  stop(StopCause::kStalled, stalled_->text);
}

// Skips an mpirun beside them: it passes the signal on to the ranks, and some
// programs take a second one as "at once".
void JobRun::signal_ranks(int signal) {
  const std::string request = wire::to_json(wire::SignalRequest{signal});
  bool any = false;
  for (const RankRecord& record : ranks_.records()) {
    if (record.state != RankState::kRunning) continue;
    any = true;
    fleet_.send(record.node, wire::FrameType::kSignal, record.key.id, request);
  }
  if (!any) fleet_.send_all(wire::FrameType::kSignal, request);
}

void JobRun::stop(StopCause cause, std::string reason, bool now) {
  if (ended_) return;
  if (stop_cause_ == StopCause::kNone) {
    stop_cause_ = cause;
    stop_reason_ = std::move(reason);
    stop_ns_ = realtime_ns();
    hang_.job_stops();
    log::info("stopping the job: {}", stop_reason_);
    if (options_.on_stopping) options_.on_stopping();
  } else if (!now) {
    return;  // already stopping; only KILL matters
  }
  settle_.cancel();
  start_deadline_.cancel();
  time_limit_.cancel();
  wire::StopRequest request;
  request.grace_ms = static_cast<int>(options_.timeouts.grace_ms);
  request.now = now;
  // After these mpirun is ending the job by itself, and a rank's own children
  // may still be printing.
  if (cause == StopCause::kRankFailed || cause == StopCause::kRankRefused ||
      cause == StopCause::kWorkerLost) {
    request.tool_delay_ms = std::min(
        options_.has_tool ? kToolEnds : kChildrenEnd, request.grace_ms / 2);
  }
  // On a TERM, Open MPI's mpirun kills its ranks after a second.
  ranks_first_ =
      options_.has_tool && may_save(cause) && !now && !ranks_.all_ended();
  if (ranks_first_) {
    request.ranks_first = true;
    request.tool_delay_ms = wire::delay_behind_ranks(request.grace_ms);
  }
  if (!stopping_) {
    for (size_t i = 0; i < fleet_.size(); ++i) {
      const auto node = static_cast<uint16_t>(i);
      if (fleet_.alive(node)) still_stopping_.insert(node);
    }
  }
  stopping_ = true;
  fleet_.send_all(wire::FrameType::kStop, wire::to_json(request));
  give_up_.start(Milliseconds{options_.timeouts.grace_ms} + kStopSlack,
                 [this] { end(); });
  loop_.post([this] { consider_end(); });
}

void JobRun::stop_for(StopCause cause, const Error& error, int rank) {
  if (stop_cause_ == StopCause::kNone) {
    stop_finding_ = Finding{Severity::kError, error.code, error.what,
                            error.why,        error.hint, rank};
  }
  stop(cause, error.text());
}

void JobRun::node_stopped(uint16_t node) {
  still_stopping_.erase(node);
  consider_end();
}

void JobRun::consider_end() {
  if (ended_) return;
  if (stopping_) {
    if (ranks_first_ && ranks_.all_ended()) {
      ranks_first_ = false;
      wire::StopRequest request;
      request.grace_ms = static_cast<int>(options_.timeouts.grace_ms);
      fleet_.send_all(wire::FrameType::kStop, wire::to_json(request));
    }
    if (still_stopping_.empty()) end();
    return;
  }
  const bool all_known =
      options_.expected_ranks < 0 ||
      ranks_.records().size() >= static_cast<size_t>(options_.expected_ranks);
  if (finished_ && !settle_.pending() && all_known && ranks_.all_ended()) end();
}

void JobRun::end() {
  if (ended_) return;
  ended_ = true;
  give_up_.cancel();
  settle_.cancel();
  if (stop_cause_ == StopCause::kNone && tool_status_ == 0 &&
      options_.expected_ranks > 0 && ranks_.records().empty()) {
    stop_cause_ = StopCause::kPlacement;
    stop_reason_ = "mpirun ended well without starting any of the " +
                   std::to_string(options_.expected_ranks) + " ranks";
  }
  loop_.post([done = on_done_] { done(); });
}

}  // namespace muster
