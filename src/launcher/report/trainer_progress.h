// SPDX-License-Identifier: Apache-2.0
// TrainerProgress: tells Kubeflow Trainer how far the job is, where its status
// server is named in the environment (KUBEFLOW_TRAINER_SERVER_*). At most every
// kInterval, and only what changed; each time by a child of its own
// (`muster-agent post-status`), one at a time, so that a slow or wrong server
// costs the job nothing. What fails is said once. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "launcher/report/trainer_status.h"

namespace muster {

class TrainerProgress {
 public:
  // As "epoch 45/100"; empty: nothing is known.
  using Source = std::function<std::string()>;

  // Null if the environment names no server.
  static std::unique_ptr<TrainerProgress> create(Loop& loop, Reaper& reaper,
                                                 std::string agent,
                                                 Source source);
  TrainerProgress(Loop& loop, Reaper& reaper, std::string agent, Source source);
  ~TrainerProgress();

  // Posts the last state; `done` follows within kFinishLimit.
  void finish(bool success, std::function<void()> done);

  static constexpr Milliseconds kInterval{10'000};
  static constexpr Milliseconds kFinishLimit{3'000};

 private:
  void look();
  void post();
  void child_ended(int wait_status);
  void read_words();
  void finished();

  Loop& loop_;
  Reaper& reaper_;
  std::string agent_;
  Source source_;
  TrainerStatus status_;
  pid_t child_ = 0;
  UniqueFd words_;  // the child's stderr
  std::unique_ptr<FdWatch> words_watch_;
  std::string problem_;
  bool problem_told_ = false;
  Timer timer_;
  std::function<void()> done_;
};

}  // namespace muster
