// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/trainer_progress.h"

#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "base/spawn.h"

namespace muster {

std::unique_ptr<TrainerProgress> TrainerProgress::create(Loop& loop,
                                                         Reaper& reaper,
                                                         std::string agent,
                                                         Source source) {
  const Environment env = current_environment();
  const std::string* url = find_env(env, "KUBEFLOW_TRAINER_SERVER_URL");
  if (url == nullptr || url->empty()) return nullptr;
  log::debug("progress of the ranks goes to {}", *url);
  return std::make_unique<TrainerProgress>(loop, reaper, std::move(agent),
                                           std::move(source));
}

TrainerProgress::TrainerProgress(Loop& loop, Reaper& reaper, std::string agent,
                                 Source source)
    : source_(std::move(source)),
      child_(loop, reaper, std::move(agent)),
      timer_(loop) {
  timer_.start(kInterval, [this] { look(); });
}

void TrainerProgress::look() {
  timer_.start(kInterval, [this] { look(); });
  if (const auto progress = parse_progress(source_())) {
    status_.note(*progress, realtime_ns());
  }
  if (status_.changed() && !child_.running()) post();
}

void TrainerProgress::post() {
  child_.start(status_.json(realtime_ns()), current_environment(),
               [this](const std::string& problem) { posted(problem); });
}

void TrainerProgress::posted(const std::string& problem) {
  if (!problem.empty() && !problem_told_) {
    problem_told_ = true;
    log::warn("cannot report progress to Kubeflow Trainer: {}. The job goes on",
              problem);
  }
  if (done_) finished();
}

void TrainerProgress::finish(bool success, std::function<void()> done) {
  done_ = std::move(done);
  child_.stop();  // the last state is newer than what it posts
  if (const auto progress = parse_progress(source_())) {
    status_.note(*progress, realtime_ns());
  }
  if (success) status_.complete();
  if (status_.changed()) post();
  if (!child_.running()) return finished();
  timer_.start(kFinishLimit, [this] { finished(); });
}

void TrainerProgress::finished() {
  timer_.cancel();
  if (const auto done = std::exchange(done_, nullptr)) done();
}

}  // namespace muster
