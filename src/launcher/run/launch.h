// SPDX-License-Identifier: Apache-2.0
// Launch: one job from the first connection to the report, phase by phase
// (docs/design.md, "A launch"). A phase is one or two functions, in
// launch_{connect,agree,start,report}.cc; their helpers are in files of their
// own. Owns everything that exists while the job runs; one loop, one thread.
#pragma once

#include <sys/signalfd.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/reaper.h"
#include "base/runtime_dir.h"
#include "launcher/connect/discovery.h"
#include "launcher/connect/fleet.h"
#include "launcher/connect/job_channel.h"
#include "launcher/connect/mesh_wait.h"
#include "launcher/connect/survey.h"
#include "launcher/hang/nccl_alarm.h"
#include "launcher/model/phase_clock.h"
#include "launcher/options/options.h"
#include "launcher/output/log_folder.h"
#include "launcher/output/rank_output.h"
#include "launcher/output/stdin_pump.h"
#include "launcher/plan/agreement.h"
#include "launcher/report/metrics_server.h"
#include "launcher/report/nccl_spread.h"
#include "launcher/report/rank_history.h"
#include "launcher/report/report_writer.h"
#include "launcher/report/status.h"
#include "launcher/report/trainer_progress.h"
#include "launcher/report/verdict_event.h"
#include "launcher/run/job_run.h"
#include "launcher/run/pod_record.h"

namespace muster {

// In order; a launch never goes back.
enum class LaunchState {
  kStarting,   // no rank has been started
  kRunning,    // ranks may run
  kDraining,   // all ranks have ended; their output is still on its way
  kReporting,  // verdict, reports, progress
  kHolding,    // --hold-on-failure
  kLeaving,    // agents get the order to end
};

class Launch {
 public:
  Launch(Loop& loop, LaunchOptions options, Discovery discovery);
  ~Launch();

  // The loop stops when all is over.
  void start();
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  // Phases, in order; each starts the next, or goes to fail().
  Status prepare();
  void connect();
  [[nodiscard]] std::vector<wire::Frame> first_questions() const;
  [[nodiscard]] bool proves() const;  // that pods reach each other
  void inspect();
  void answer_survey(Survey::Answers answers);
  void agree_on_plan(const Survey::Answers& answers);
  [[nodiscard]] Result<AgreementInput> agreement_input() const;
  Status learn_secrets();
  void show(const std::string& text) const;
  [[nodiscard]] std::vector<std::string> hosts() const;
  void prove();
  void prove_reach(const Survey::Answers& ports);
  void start_ranks();
  [[nodiscard]] RunOptions run_options();
  void watch_nccl();
  void pump_stdin();
  void begin_drain();
  void drain();
  void read_records();
  void report();
  void show_early();  // the provisional verdict, where the end takes long
  void hold_or_leave(bool failed);
  void say_goodbye(bool success);
  void leave();

  // Ends the launch before any rank was started.
  void fail(const Error& error);
  void heartbeat(uint16_t node, const wire::Frame& frame);
  void answered(uint16_t node, const wire::Frame& frame);
  void on_lost(uint16_t node, Error error);
  // Ends a launch that has run nothing; false: not worth another try.
  bool reconnect(uint16_t node, const Error& error);
  void on_leaving(uint16_t node);
  void on_signal(const signalfd_siginfo& info);
  void forward(int signal);  // to the ranks
  void reader_gone();
  Status write_mpirun_files();
  std::unique_ptr<Backend> make_native(BackendEvents events);
  std::unique_ptr<Backend> make_mpirun(BackendEvents events);
  [[nodiscard]] Evidence evidence() const;
  [[nodiscard]] std::string progress() const;
  [[nodiscard]] JobStatus status() const;
  void write_status();
  void tell_end(const Verdict& verdict);  // to who watches
  void tell(const std::vector<Finding>& findings);
  [[nodiscard]] std::string facts_json() const;
  void fill_workers(LaunchReport& report) const;

  Loop& loop_;
  LaunchOptions options_;
  Discovery discovery_;
  std::string launch_id_;
  std::string agent_;
  RuntimeDir directory_;
  // Empty until all is over. A `muster top` that has it open reads the end in
  // it after the directory is gone.
  UniqueFd end_file_;
  std::optional<JobEnd> ended_;
  LogFolder log_folder_;
  PhaseClock clock_;
  int64_t started_ns_ = 0;
  Clock::time_point began_ = Clock::now();  // the same, for durations
  Clock::time_point ready_at_;
  Reaper reaper_;
  SignalWatch signals_;
  std::unique_ptr<JobChannel> channel_;
  std::vector<uint16_t> node_of_host_;
  std::unique_ptr<Fleet> fleet_;
  // Frame ids of questions to agents; question_ is the one under way.
  static constexpr uint32_t kFactsQuestion = 1;
  static constexpr uint32_t kListenQuestion = 2;
  static constexpr uint32_t kReachQuestion = 3;
  std::unique_ptr<Survey> survey_;
  uint32_t question_ = 0;
  // Of agents that became ready early, or before a worker was lost again.
  Survey::Answers known_facts_;
  Survey::Answers known_ports_;
  std::vector<NodeFacts> facts_;
  std::vector<ReachTest> reach_tests_;
  Agreement agreement_;
  std::vector<Finding> findings_;
  std::unique_ptr<RankOutput> output_;
  std::unique_ptr<StdinPump> stdin_;
  std::unique_ptr<JobRun> run_;
  std::unique_ptr<NcclAlarm> nccl_;
  PodRecords pods_;
  RankHistories histories_;
  NcclSpread loaded_nccl_;
  int reconnects_ = 0;
  std::vector<Laggard> laggards_;
  std::optional<Error> failure_;  // what ended the launch before ranks ran
  int stop_signal_ = 0;      // an outside cause of the end; SIGPIPE: its reader
  std::set<int> forwarded_;  // signals that the ranks got
  bool preempted_ = false;
  LaunchState state_ = LaunchState::kStarting;
  Clock::time_point drain_until_;
  bool hurried_ = false;  // a signal came when only reports were missing
  int exit_code_ = 0;
  MeshWait mesh_;
  Timer leave_timer_;
  Timer early_;
  Timer status_timer_;
  std::unique_ptr<MetricsServer> metrics_;
  std::unique_ptr<TrainerProgress> trainer_;  // null: no server
  std::unique_ptr<VerdictEvent> event_;
  std::unique_ptr<ReportWriter> writer_;  // once all is over
};

}  // namespace muster
