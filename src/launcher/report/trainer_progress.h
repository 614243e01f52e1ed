// SPDX-License-Identifier: Apache-2.0
// TrainerProgress: reports the job's progress to Kubeflow Trainer, if its
// status server is in the environment (KUBEFLOW_TRAINER_SERVER_*). At most
// every kInterval, and only changes; each time by a child of its own
// (`muster-agent post-status`), one at a time, so that a slow or wrong server
// costs the job nothing. Reports a failure once. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/reaper.h"
#include "launcher/report/post_child.h"
#include "launcher/report/trainer_status.h"

namespace muster {

class TrainerProgress {
 public:
  // As "epoch 45/100"; empty: unknown.
  using Source = std::function<std::string()>;

  // Null if the environment names no server.
  static std::unique_ptr<TrainerProgress> create(Loop& loop, Reaper& reaper,
                                                 std::string agent,
                                                 Source source);
  TrainerProgress(Loop& loop, Reaper& reaper, std::string agent, Source source);

  // Posts the last state; `done` follows within kFinishLimit.
  void finish(bool success, std::function<void()> done);

  static constexpr Milliseconds kInterval{10'000};
  static constexpr Milliseconds kFinishLimit{3'000};

 private:
  void look();
  void post();
  void posted(const std::string& problem);
  void finished();

  Source source_;
  TrainerStatus status_;
  PostChild child_;
  bool problem_told_ = false;
  Timer timer_;
  std::function<void()> done_;
};

}  // namespace muster
