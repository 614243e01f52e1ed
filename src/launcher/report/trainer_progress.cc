// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/trainer_progress.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/text.h"

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
    : loop_(loop),
      reaper_(reaper),
      agent_(std::move(agent)),
      source_(std::move(source)),
      timer_(loop) {
  timer_.start(kInterval, [this] { look(); });
}

TrainerProgress::~TrainerProgress() {
  if (child_ == 0) return;
  reaper_.forget(child_);
  ::kill(child_, SIGKILL);
}

void TrainerProgress::look() {
  timer_.start(kInterval, [this] { look(); });
  if (const auto progress = parse_progress(source_())) {
    status_.note(*progress, realtime_ns());
  }
  if (status_.changed() && child_ == 0) post();
}

void TrainerProgress::post() {
  auto in = make_pipe();
  auto err = make_pipe();
  if (!in || !err) return;
  // Far below what a pipe holds: this write cannot block.
  const std::string body = status_.json(realtime_ns());
  if (::write(in->write.get(), body.data(), body.size()) !=
      static_cast<ssize_t>(body.size())) {
    return;
  }
  in->write.reset();
  SpawnOptions options;
  options.argv = {agent_, "post-status"};
  options.env = current_environment();
  options.fds = {{in->read.get(), 0}, {err->write.get(), 2}};
  options.parent_death_signal = SIGKILL;
  const auto pid = spawn(options);
  if (!pid) {
    problem_ = pid.error().text();
    child_ended(0x100);
    return;
  }
  child_ = *pid;
  problem_.clear();
  words_ = std::move(err->read);
  set_nonblocking(words_.get());
  words_watch_ = std::make_unique<FdWatch>(loop_, words_.get());
  words_watch_->on_readable([this] { read_words(); });
  reaper_.watch(child_,
                [this](const ChildExit& end) { child_ended(end.wait_status); });
}

void TrainerProgress::read_words() {
  constexpr size_t kMax = 1024;
  char buffer[512];
  const ssize_t n = ::read(words_.get(), buffer, sizeof buffer);
  if (n <= 0) {
    words_watch_->stop_reading();
    return;
  }
  if (problem_.size() < kMax) problem_.append(buffer, static_cast<size_t>(n));
}

void TrainerProgress::child_ended(int wait_status) {
  child_ = 0;
  if (words_) read_words();
  words_watch_.reset();
  words_.reset();
  if (wait_status != 0 && !problem_told_) {
    problem_told_ = true;
    if (problem_.empty()) problem_ = "the status server did not answer in time";
    log::warn(
        "Kubeflow Trainer is not told of the progress: {}. The job goes on",
        trim(problem_));
  }
  if (done_) finished();
}

void TrainerProgress::finish(bool success, std::function<void()> done) {
  done_ = std::move(done);
  if (child_ != 0) {  // the last state is newer than what it posts
    reaper_.forget(child_);
    ::kill(std::exchange(child_, 0), SIGKILL);
    words_watch_.reset();
  }
  if (const auto progress = parse_progress(source_())) {
    status_.note(*progress, realtime_ns());
  }
  if (success) status_.complete();
  if (status_.changed()) post();
  if (child_ == 0) return finished();
  timer_.start(kFinishLimit, [this] { finished(); });
}

void TrainerProgress::finished() {
  timer_.cancel();
  if (const auto done = std::exchange(done_, nullptr)) done();
}

}  // namespace muster
