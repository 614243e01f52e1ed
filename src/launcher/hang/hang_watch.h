// SPDX-License-Identifier: Apache-2.0
// HangWatch: asks all agents for their ranks' stacks, twice, when no rank has
// printed for --hang-timeout, or when `muster stack` in another shell asks
// through two files of the run directory. The job hangs if nothing moves
// between the two looks while ranks wait for others (launcher/hang/progress.h).
// Ranks at work are reported once, and looked at again later. It warns; it ends
// the job only for a hang, and only on request. It asks NCCL and PyTorch when
// the job would end anyway.
// A rank whose last lines are an exception and that does not end waits for the
// others, and mostly they for it: HangWatch names it. It reports the rank as
// failed if no part of its program can have caught the exception, its stack is
// in MPI_Finalize and that of another rank is not. Lives on the launcher's
// loop; borrows fleet, output and rank table.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "job/finding.h"
#include "launcher/connect/fleet.h"
#include "launcher/hang/culprits.h"
#include "launcher/hang/final_exception.h"
#include "launcher/hang/flight_report.h"
#include "launcher/hang/ras_report.h"
#include "launcher/hang/stack_groups.h"
#include "launcher/model/rank_table.h"
#include "launcher/output/rank_output.h"

namespace muster {

struct HangOptions {
  Milliseconds silence{0};               // 0: only on demand
  bool stop = false;                     // --hang-action stop
  int signal = 0;                        // also sent to the ranks; 0: none
  std::string directory;                 // of the launch; empty: no requests
  Milliseconds shortest_pause{3'000};    // between two looks at a silence
  Milliseconds after_exception{10'000};  // that a rank should need to end
  bool end_after_exception = true;       // else it is named only
  bool drop_in = false;                  // the user typed mpirun
};

class HangWatch {
 public:
  // `hung`: the ranks hang and the job is to be stopped; `rank` is the one that
  // holds it up, or -1. `raised`: this rank has failed and cannot end.
  HangWatch(Loop& loop, Fleet& fleet, RankOutput& output,
            const RankTable& ranks, HangOptions options,
            std::function<void(const Error&, int rank)> hung,
            std::function<void(const StuckRank&)> raised);

  void start() { tick(); }
  // The job is being stopped: its ranks' state says nothing about before.
  void job_stops() { stops_ = true; }
  // The last hang that was seen, for the report.
  [[nodiscard]] const std::optional<Finding>& finding() const {
    return finding_;
  }
  // The ranks that raised an exception and do not end.
  [[nodiscard]] const std::map<ProcessKey, StuckRank>& stuck() const {
    return stuck_;
  }
  // Asks for PyTorch's records of ranks that have ended; `done` runs once.
  void read_records(std::function<void()> done);
  // … and of a hang that ends the job.
  [[nodiscard]] const std::vector<FlightIssue>& collectives() const {
    return collectives_;
  }

 private:
  // The answers to one question.
  struct Look {
    Clock::time_point at;
    Clock::time_point ended;
    HangLook seen;
    std::map<std::string, std::vector<std::string>> addresses;  // of a host
    bool asked_nccl = false;
    std::string nccl;  // the longest report
  };

  void tick();
  void look_for_silence();
  void look_for_request();
  void look_for_exceptions();
  // `then` runs once, if there is an agent to ask.
  void ask(const wire::StackRequest& request, std::function<void()> then);
  void reply(uint16_t node, const wire::Frame& frame);
  void answered();
  [[nodiscard]] Milliseconds pause() const;  // between two looks
  Milliseconds silent();                     // since output of the ranks' own
  void output_again();
  void looked_twice();
  void tell_work(const Judgement& judgement);
  void tell_hang(const Look& look, const Judgement& judgement);
  void answer_request(const Judgement& judgement);
  [[nodiscard]] HangEvidence evidence(const Look& look,
                                      const Judgement& judgement);
  [[nodiscard]] std::set<uint16_t> nodes_for_nccl() const;
  [[nodiscard]] std::vector<std::string> nccl_sentences(const Look& look) const;
  [[nodiscard]] JobRankOf job_rank(const Look& look) const;  // borrows both
  // A rank whose last lines are an exception.
  struct Suspect {
    Clock::time_point since;
    Clock::time_point next_look;
    int looks = 0;
    bool told = false;  // the user was
  };
  void looked_at_suspects();
  void tell_stuck(const std::vector<StuckRank>& stuck);
  // nullptr: it no longer runs.
  [[nodiscard]] const RankRecord* running_rank(const PlacedStack&) const;
  // Ranks of look_ that raised an exception and do not end.
  [[nodiscard]] std::vector<StuckRank> stuck_ranks() const;
  [[nodiscard]] bool others_go_on() const;  // by look_

  Loop& loop_;
  Fleet& fleet_;
  RankOutput& output_;
  const RankTable& ranks_;
  HangOptions options_;
  std::function<void(const Error&, int)> hung_;
  std::function<void(const StuckRank&)> raised_;
  bool stops_ = false;
  std::map<ProcessKey, Suspect> suspects_;
  std::map<ProcessKey, StuckRank> stuck_;
  std::set<Progress> told_;     // of the silence that goes on
  Clock::time_point provoked_;  // the last question that ranks may answer to
  Clock::time_point provoked_until_;
  Clock::time_point answers_;      // their last line then
  Clock::time_point last_output_;  // the last of their own
  Clock::time_point next_look_;
  std::optional<Look> first_look_;  // at the silence; the second is to come
  bool provoke_ = false;            // NCCL and PyTorch may be asked
  std::string request_id_;          // of `muster stack`; empty: none
  wire::StackRequest request_;
  std::optional<Look> request_look_;  // the first
  std::set<uint16_t> waiting_;        // nodes that have not answered
  uint32_t question_ = 0;
  std::function<void()> then_;
  Look look_;  // the last
  std::vector<FlightIssue> collectives_;
  std::optional<Finding> finding_;
  Timer tick_;
  Timer deadline_;
};

// The files of `muster stack` and of the launcher's answer in its run
// directory; `id` is of hexadecimal digits.
std::string stack_request_file(const std::string& id);
std::string stack_answer_file(const std::string& id);

}  // namespace muster
