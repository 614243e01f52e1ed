// SPDX-License-Identifier: Apache-2.0
// HangWatch: asks all agents where their ranks are, when no rank has put out
// anything for --hang-timeout, or when `muster stack` in another shell asks for
// it through two files of the run directory. It warns; it ends the job only
// if it was told to. It also names a rank whose last words are an exception and
// that does not end: it waits for the others, and mostly they for it.
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
};

class HangWatch {
 public:
  // `hung`: the ranks hang and the job is to be stopped.
  HangWatch(Loop& loop, Fleet& fleet, RankOutput& output,
            const RankTable& ranks, HangOptions options,
            std::function<void(Error)> hung);

  void start() { tick(); }
  // The last hang that was seen, for the report.
  [[nodiscard]] const std::optional<Finding>& finding() const {
    return finding_;
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
  void tell_stuck();
  // Ranks of stacks_ that raised an exception and do not come to their end.
  [[nodiscard]] std::vector<StuckRank> stuck_ranks() const;

  Loop& loop_;
  Fleet& fleet_;
  RankOutput& output_;
  const RankTable& ranks_;
  HangOptions options_;
  std::function<void(Error)> hung_;
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
