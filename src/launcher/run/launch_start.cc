// SPDX-License-Identifier: Apache-2.0
// Phase "run": the plan's backend, with the files that it needs.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "base/self_path.h"
#include "base/text.h"
#include "launcher/options/mpirun_words.h"
#include "launcher/plan/launch_environment.h"
#include "launcher/plan/modex_map.h"
#include "launcher/plan/script_session.h"
#include "launcher/run/launch.h"
#include "launcher/start/mpirun_backend.h"
#include "launcher/start/native_backend.h"

namespace muster {

namespace {

// The failed ranks' last output has arrived by then. A job whose ranks end at
// once has its final verdict before.
constexpr Milliseconds kEarlyVerdict{1'000};

// Applies the options of an mpirun line that a native start honours.
void adopt(const MpirunLine& line, LaunchOptions& options) {
  if (line.timeout_s) options.timeouts.run_ms = *line.timeout_s * 1000;
  if (line.stdin_target == "all") options.stdin_mode = StdinMode::kAll;
  if (line.stdin_target == "none") options.stdin_mode = StdinMode::kNone;
}

}  // namespace

void Launch::start_ranks() {
  clock_.enter("run");
  known_facts_.clear();
  known_ports_.clear();
  if (agreement_.bootstrap == Bootstrap::kPmix && discovery_.line) {
    adopt(*discovery_.line, options_);
  }
  const bool mpirun = agreement_.bootstrap == Bootstrap::kMpirun;
  if (mpirun) {
    // Tested before there is a run: without them nothing has started, and a
    // signal has nothing to stop.
    if (auto written = write_mpirun_files(); !written) {
      fail(written.error());
      return;
    }
    for (const std::string& words : agreement_.dropped) {
      log::info("{} {}", words,
                options_.local
                    ? "does not count: --local starts all on this machine"
                    : "is replaced by muster's own");
    }
  }
  state_ = LaunchState::kRunning;
  run_ = std::make_unique<JobRun>(loop_, *fleet_, *output_, run_options(),
                                  [this] { begin_drain(); });
  watch_nccl();
  if (options_.stdin_mode != StdinMode::kNone) pump_stdin();
  log::info("starting {}{} ({}: {})",
            agreement_.expected_ranks < 0
                ? "the command"
                : std::to_string(agreement_.expected_ranks) +
                      (agreement_.expected_ranks == 1 ? " rank" : " ranks"),
            mpirun ? " through mpirun" : "", mpirun ? "mpirun" : "native",
            agreement_.bootstrap_reason);
  if (options_.display_map) {
    if (mpirun) log::info("as planned; mpirun itself has the last word:");
    for (const auto& line : map_lines(agreement_.plan, agreement_.binding)) {
      log::info("{}", line);
    }
  }
  run_->start(
      [this, mpirun](BackendEvents events) {
        return mpirun ? make_mpirun(std::move(events))
                      : make_native(std::move(events));
      },
      stdin_.get());
}

RunOptions Launch::run_options() {
  RunOptions run;
  run.timeouts = options_.timeouts;
  run.expected_ranks = agreement_.expected_ranks;
  run.has_tool = agreement_.bootstrap == Bootstrap::kMpirun;
  run.tool = options_.once ? "the script" : "mpirun";
  run.check_start = !options_.once;
  for (const uint16_t node : node_of_host_) run.rank_nodes.insert(node);
  run.checkpoint_signal = options_.checkpoint_signal;
  run.warn_at_limit = options_.warn_at_limit;
  run.on_stopping = [this] {
    early_.start(kEarlyVerdict, [this] { show_early(); });
  };
  run.hang = {Milliseconds{options_.hang_ms}, options_.hang_stop,
              options_.hang_signal, directory_.path()};
  run.hang.drop_in = options_.drop_in;
  run.hang.end_after_exception = options_.exception_ms > 0;
  if (options_.exception_ms > 0) {
    run.hang.after_exception = Milliseconds{options_.exception_ms};
  }
  return run;
}

// Compares NCCL's lines on its network with the plan.
void Launch::watch_nccl() {
  nccl_ = std::make_unique<NcclAlarm>(
      loop_, agreement_.fabric.transport,
      [this](const Finding& finding) { tell({finding}); });
  output_->on_line(kNcclMark, [this](int rank, const std::string& host,
                                     std::string_view line) {
    nccl_->line(rank, host, line);
  });
}

void Launch::pump_stdin() {
  stdin_ = std::make_unique<StdinPump>(
      loop_, STDIN_FILENO,
      [this](ProcessKey key, std::string_view bytes) {
        fleet_->send(key.node, wire::FrameType::kStdin, key.id, bytes);
      },
      [this](ProcessKey key) {
        fleet_->send(key.node, wire::FrameType::kStdinEof, key.id);
      });
}

Status Launch::write_mpirun_files() {
  for (size_t node = 0; options_.local && node < fleet_->size(); ++node) {
    const std::string place = local_node_directory(directory_.path(), node);
    if (::mkdir(place.c_str(), 0700) != 0) {
      return fail_errno("no_writable_dir", "cannot make a directory", place);
    }
  }
  if (auto written = write_file_atomically(agreement_.hostfile_path,
                                           agreement_.hostfile_text);
      !written || !options_.once) {
    return written;
  }
  const ScriptSession session{agreement_.hostfile_path, agreement_.mpi.launcher,
                              agreement_.mpi.options, agreement_.mpi.wrapper,
                              agreement_.search_paths};
  return write_file_atomically(directory_.path() + "/" + kScriptSessionFile,
                               to_json(session));
}

std::unique_ptr<Backend> Launch::make_native(BackendEvents events) {
  NativeJob job;
  job.map =
      job_map(agreement_, launch_id_, random_id(), options_.local.has_value());
  std::error_code removed;  // then there is none
  job.map.cwd_if_there = std::filesystem::current_path(removed).string();
  job.ranks = native_ranks(agreement_, node_of_host_, options_);
  for (NativeRank& rank : job.ranks) {
    if (!rank.cwd.empty() && rank.cwd[0] != '/') {
      rank.cwd = job.map.cwd_if_there + "/" + rank.cwd;
    }
  }
  for (const PlannedRank& rank : agreement_.plan.ranks) {
    job.map.programs[static_cast<size_t>(rank.app)].cwd =
        job.ranks[static_cast<size_t>(rank.rank)].cwd;
  }
  job.stdin_mode = options_.stdin_mode;
  job.fleet_nodes = node_of_host_;
  job.start_deadline = Milliseconds{options_.timeouts.start_ms};
  return std::make_unique<NativeBackend>(loop_, *fleet_, std::move(job),
                                         std::move(events));
}

std::unique_ptr<Backend> Launch::make_mpirun(BackendEvents events) {
  std::string path = drop_in_directory();
  if (const std::string* own = find_env(discovery_.env, "PATH")) {
    path += (path.empty() ? "" : ":") + *own;
  }
  MpirunPlan plan =
      mpirun_plan(agreement_, node_of_host_, options_, directory_.path(), path);
  plan.own_host = discovery_.hostname;
  return std::make_unique<MpirunBackend>(loop_, *fleet_, std::move(plan),
                                         std::move(events));
}

}  // namespace muster
