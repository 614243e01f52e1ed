// SPDX-License-Identifier: Apache-2.0
// Phases 6 to 8: starts, runs and drains the ranks. Knows every rank's state,
// decides when the job has failed, and stops it everywhere, once. Always ends:
// each wait has a deadline. Lives on the launcher's loop; borrows fleet and
// output.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "job/plan.h"
#include "launcher/connect/fleet.h"
#include "launcher/hang/hang_watch.h"
#include "launcher/model/rank_table.h"
#include "launcher/output/rank_output.h"
#include "launcher/output/stdin_pump.h"
#include "launcher/start/backend.h"

namespace muster {

enum class StopCause {
  kNone,         // not stopped: every rank ended well
  kRankFailed,   // exited with another code than 0, or by a signal
  kRankRefused,  // could not be started
  kWorkerLost,
  kToolFailed,     // mpirun or the script failed, no rank before it
  kBackendFailed,  // mpirun could not be started at all
  kStartDeadline,
  kWorldBroken,  // a rank is missing from MPI_Init, or left without notice
  kTimeLimit,
  kPlacement,  // ranks are not where, or not as many as, planned
  kSignal,     // TERM or INT to the launcher
  kHang,       // --hang-action stop
  kPodLeaves,  // a worker's pod got a SIGTERM
  kStalled,    // workers took this launcher for lost
};

// The text that a rank passed to the PMI server in MPI_Abort: it may print
// nothing.
struct RankAbort {
  int rank = -1;
  int code = 0;
};

struct RunOptions {
  Timeouts timeouts;
  int expected_ranks = -1;        // -1: unknown
  bool has_tool = false;          // mpirun or a script ends the job
  std::string tool = "mpirun";    // … as people know it
  bool check_start = true;        // the start deadline applies
  std::set<uint16_t> rank_nodes;  // where ranks may be; empty: anywhere
  // At the time limit ranks get this signal first, and the grace to save and
  // end by themselves. 0: none.
  int checkpoint_signal = 0;
  bool warn_at_limit = false;         // … and nothing else happens
  std::function<void()> on_stopping;  // once: the job's stop begins
  HangOptions hang;
};

class JobRun {
 public:
  using MakeBackend = std::function<std::unique_ptr<Backend>(BackendEvents)>;

  JobRun(Loop& loop, Fleet& fleet, RankOutput& output, RunOptions options,
         std::function<void()> on_done);

  void start(const MakeBackend& make_backend, StdinPump* stdin_pump);
  void node_lost(uint16_t node, const Error& error);
  // Its agent took this launcher for lost. How its ranks end from now on does
  // not count, even with code 0.
  void worker_gave_up(uint16_t node);
  // TERM, grace, KILL for every process of the job; `now`: KILL.
  void stop(StopCause cause, std::string reason, bool now = false);
  void signal_ranks(int signal);

  [[nodiscard]] const RankTable& ranks() const { return ranks_; }
  [[nodiscard]] StopCause stop_cause() const { return stop_cause_; }
  [[nodiscard]] const std::string& stop_reason() const { return stop_reason_; }
  // Workers took this launcher for lost, and no other cause was known before.
  [[nodiscard]] const std::optional<Finding>& stalled() const {
    return stalled_;
  }
  // Details of the stop, if there is more than stop_reason().
  [[nodiscard]] const std::optional<Finding>& stop_finding() const {
    return stop_finding_;
  }
  // The first, unless the job was being stopped already.
  [[nodiscard]] const std::optional<RankAbort>& abort() const { return abort_; }
  [[nodiscard]] const std::optional<Finding>& hang() const {
    return hang_.finding();
  }
  // Ranks that raised an exception and do not end.
  [[nodiscard]] const std::map<ProcessKey, StuckRank>& stuck() const {
    return hang_.stuck();
  }
  // After the end: PyTorch's records of the ranks' collectives.
  void read_records(std::function<void()> done) {
    hang_.read_records(std::move(done));
  }
  [[nodiscard]] const std::vector<FlightIssue>& collectives() const {
    return hang_.collectives();
  }
  [[nodiscard]] int64_t stop_ns() const { return stop_ns_; }
  [[nodiscard]] std::optional<int> tool_status() const { return tool_status_; }
  // By SIGKILL, while the job was not being stopped.
  [[nodiscard]] bool tool_killed() const { return tool_killed_; }
  // It ended after the job's stop had begun.
  [[nodiscard]] bool tool_stopped_by_us() const { return tool_stopped_; }
  [[nodiscard]] std::optional<ProcessKey> tool() const { return tool_; }
  // When the first rank was running, and all; nullopt: not yet.
  [[nodiscard]] const std::optional<Clock::time_point>& first_rank_at() const {
    return first_rank_at_;
  }
  [[nodiscard]] const std::optional<Clock::time_point>& all_ranks_at() const {
    return all_ranks_at_;
  }

 private:
  void listen();
  BackendEvents backend_events();
  void rank_starting(RankRecord record);
  void rank_running(ProcessKey key, int pid);
  void rank_exited(ProcessKey key, const wire::Exited& exit);
  void note_end(RankRecord& record, const wire::Exited& exit);
  void rank_failed(const RankRecord& record);
  void rank_aborted(ProcessKey key, int code, const std::string& message);
  void rank_refused(ProcessKey key, const wire::StartFailed& refusal);
  void ended_well(ProcessKey key);
  void backend_finished(const wire::Exited& tool);
  void check_world(const RankRecord& record);
  void arm_deadlines();
  void time_is_up();
  void stop_soon(StopCause cause, const std::string& reason);
  void stop_for(StopCause cause, const Error& error, int rank = -1);
  void node_stopped(uint16_t node);
  void consider_end();
  void end();

  Loop& loop_;
  Fleet& fleet_;
  RankOutput& output_;
  RunOptions options_;
  std::function<void()> on_done_;
  std::unique_ptr<Backend> backend_;
  StdinPump* stdin_ = nullptr;
  RankTable ranks_;
  std::deque<ProcessKey> ended_well_;  // and still listed
  StopCause stop_cause_ = StopCause::kNone;
  std::string stop_reason_;
  std::optional<Finding> stop_finding_;
  std::optional<Finding> stalled_;
  std::set<uint16_t> gave_up_;
  std::optional<RankAbort> abort_;
  int64_t stop_ns_ = 0;
  int64_t first_failed_ns_ = 0;  // of the first reported failure; 0: none
  std::optional<uint16_t> first_failed_node_;  // its node
  bool stopping_ = false;                      // kStop has been sent
  bool ranks_first_ = false;  // … and mpirun gets it after their end
  bool finished_ = false;     // the backend has started
  // The ranks save at the time limit. A rank that ends with an error code of
  // its own ("start me again") does not end the others' work.
  bool saving_ = false;
  std::string failed_saving_;  // the first such one
  bool ended_ = false;
  std::optional<int> tool_status_;
  bool tool_killed_ = false;
  bool tool_stopped_ = false;
  std::optional<ProcessKey> tool_;
  std::set<uint16_t> still_stopping_;
  std::optional<Clock::time_point> first_rank_at_;
  std::optional<Clock::time_point> all_ranks_at_;
  Timer start_deadline_;
  Timer time_warning_;
  Timer time_limit_;
  Timer settle_;  // a failure is seen; mpirun gets a moment to end by itself
  Timer give_up_;
  HangWatch hang_;
};

}  // namespace muster
