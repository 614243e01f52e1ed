// SPDX-License-Identifier: Apache-2.0
// HangWatch: asks all agents where their ranks are, when no rank has put out
// anything for --hang-timeout, or when `muster stack` in another shell asks for
// it through two files of the run directory. It warns; it ends the job only
// if it was told to. A rank whose last words are an exception and that does not
// end waits for the others, and mostly they for it: it is named, and told of as
// one that failed where no part of its program can have caught the exception,
// its stack is in MPI_Finalize and that of another rank is not.
// Lives on the launcher's loop; borrows fleet, output and rank table.
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
#include "launcher/hang/final_exception.h"
#include "launcher/hang/flight_report.h"
#include "launcher/hang/ras_report.h"
#include "launcher/hang/stack_groups.h"
#include "launcher/output/rank_output.h"
#include "launcher/rank_table.h"

namespace muster {

struct HangOptions {
  Milliseconds silence{0};               // 0: only on demand
  bool stop = false;                     // --hang-action stop
  int signal = 0;                        // also sent to the ranks; 0: none
  std::string directory;                 // of the launch; empty: no requests
  Milliseconds after_exception{10'000};  // that a rank should need to end
  bool end_after_exception = true;       // else it is named only
  bool drop_in = false;                  // somebody typed mpirun
};

class HangWatch {
 public:
  // `hung`: the ranks hang and the job is to be stopped. `raised`: this rank
  // has failed and cannot end.
  HangWatch(Loop& loop, Fleet& fleet, RankOutput& output,
            const RankTable& ranks, HangOptions options,
            std::function<void(Error)> hung,
            std::function<void(const StuckRank&)> raised);

  void start() { tick(); }
  // The job is being stopped: what ranks do now tells nothing of before.
  void job_stops() { stops_ = true; }
  // The last hang that was seen, for the report.
  [[nodiscard]] const std::optional<Finding>& finding() const {
    return finding_;
  }
  // What is known of ranks that raised an exception and do not end.
  [[nodiscard]] const std::map<ProcessKey, StuckRank>& stuck() const {
    return stuck_;
  }
  // Asks for what PyTorch recorded of ranks that have ended; `done` runs once.
  void read_records(std::function<void()> done);
  // … and of a hang that ends the job.
  [[nodiscard]] const std::vector<FlightIssue>& collectives() const {
    return collectives_;
  }

 private:
  void tick();
  void look_for_silence();
  void look_for_request();
  void look_for_exceptions();
  void ask(const wire::StackRequest& request);
  void reply(uint16_t node, const wire::Frame& frame);
  void answered();
  void tell_hang();
  [[nodiscard]] std::vector<std::string> flight_sentences(
      const std::vector<FlightIssue>& issues) const;
  [[nodiscard]] std::set<uint16_t> nodes_for_nccl() const;
  [[nodiscard]] std::vector<std::string> nccl_sentences() const;
  [[nodiscard]] JobRankOf job_rank() const;  // borrows this
  // One whose last words are an exception.
  struct Suspect {
    Clock::time_point since;
    Clock::time_point next_look;
    int looks = 0;
    bool told = false;  // people were
  };
  void looked_at_suspects();
  void tell_stuck(const std::vector<StuckRank>& stuck);
  // nullptr: it does not run any more.
  [[nodiscard]] const RankRecord* running_rank(const PlacedStack&) const;
  // Ranks of stacks_ that raised an exception and do not come to their end.
  [[nodiscard]] std::vector<StuckRank> stuck_ranks() const;
  [[nodiscard]] bool others_go_on() const;  // by stacks_

  Loop& loop_;
  Fleet& fleet_;
  RankOutput& output_;
  const RankTable& ranks_;
  HangOptions options_;
  std::function<void(Error)> hung_;
  std::function<void(const StuckRank&)> raised_;
  bool stops_ = false;
  std::map<ProcessKey, Suspect> suspects_;
  std::map<ProcessKey, StuckRank> stuck_;
  bool told_ = false;  // of the silence that goes on
  Clock::time_point told_at_;
  Milliseconds silent_{0};  // … when it was found
  enum class Asker { kHang, kRequest, kException, kRecords };
  Asker asker_ = Asker::kHang;
  std::string request_id_;      // of `muster stack`
  std::set<uint16_t> waiting_;  // nodes that have not answered
  uint32_t question_ = 0;
  std::vector<PlacedStack> stacks_;
  std::map<std::string, std::vector<std::string>> addresses_;  // of a host
  bool asked_nccl_ = false;
  bool asked_flight_ = false;
  std::string nccl_;  // the longest report that came
  std::vector<wire::FlightRecord> records_;
  std::vector<FlightIssue> collectives_;
  std::function<void()> records_read_;
  std::optional<Finding> finding_;
  Timer tick_;
  Timer deadline_;
};

// What `muster stack` writes and the launcher answers in its run directory;
// `id` is of hexadecimal digits.
std::string stack_request_file(const std::string& id);
std::string stack_answer_file(const std::string& id);

}  // namespace muster
