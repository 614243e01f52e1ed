// SPDX-License-Identifier: Apache-2.0
// CheckRun: `muster fabric check` and `bench` over a whole job: all pairs in
// rounds, then failed connections once more the other way round, slow pairs
// once more alone, and at last facts and names of every pod. Collects;
// fabric/prove/job_check_report.h judges. Lives on the loop; one order per pod
// at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/fabric_options.h"
#include "fabric/prove/job_check_report.h"
#include "fabric/prove/tournament.h"
#include "launcher/commands/peer_fleet.h"

namespace muster {

class CheckRun {
 public:
  CheckRun(Loop& loop, FabricOptions fabric, LaunchOptions options,
           FabricRequest request, Discovery discovery);

  // `done` once; after it the report is there.
  Status start(std::function<void()> done);
  [[nodiscard]] const JobCheck& result() const { return result_; }

 private:
  void greet(const std::vector<Laggard>& missing);
  void greeted(const PeerFleet::Answers& answers);
  void next_round();
  void round_over(const TestRound& round, PeerFleet::Answers answers);
  void plan_second_looks();
  void plan_slow_again();
  void look();
  void looked(const PeerFleet::Answers& answers);
  [[nodiscard]] PeerOrder order_for(size_t driver, size_t peer) const;
  [[nodiscard]] bool stalls_often(size_t pod) const;

  FabricOptions fabric_;
  PeerFleet peers_;
  std::function<void()> done_;
  JobCheck result_;
  std::vector<int> ports_;
  std::vector<int> stalls_;  // by pod: full-sized packets were lost so often
  std::vector<TestRound> rounds_;
  size_t round_ = 0;
  // Rounds from here on ask only for the other direction of a connection …
  size_t first_second_look_ = kNotYet;
  // … and from here on measure one slow pair at a time.
  size_t first_alone_ = kNotYet;

  static constexpr size_t kNotYet = static_cast<size_t>(-1);
};

// check, bench, mpi over the job, where this is the launcher pod; nullopt: the
// command is for this pod alone.
std::optional<int> job_fabric_main(const std::vector<std::string>& args);

}  // namespace muster
