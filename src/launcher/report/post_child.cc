// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/post_child.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"

namespace muster {

PostChild::PostChild(Loop& loop, Reaper& reaper, std::string agent)
    : loop_(loop), reaper_(reaper), agent_(std::move(agent)) {}

PostChild::~PostChild() { stop(); }

void PostChild::start(const std::string& body, Environment env, Done done) {
  stop();
  done_ = std::move(done);
  problem_.clear();
  auto in = make_pipe();
  auto err = make_pipe();
  // Far below what a pipe holds: this write cannot block.
  if (!in || !err ||
      ::write(in->write.get(), body.data(), body.size()) !=
          static_cast<ssize_t>(body.size())) {
    problem_ = "no pipe to a child";
    return ended(0x100);
  }
  in->write.reset();
  SpawnOptions options;
  options.argv = {agent_, "post-status"};
  options.env = std::move(env);
  options.fds = {{in->read.get(), 0}, {err->write.get(), 2}};
  options.parent_death_signal = SIGKILL;
  const auto pid = spawn(options);
  if (!pid) {
    problem_ = pid.error().text();
    return ended(0x100);
  }
  child_ = *pid;
  words_ = std::move(err->read);
  set_nonblocking(words_.get());
  words_watch_ = std::make_unique<FdWatch>(loop_, words_.get());
  words_watch_->on_readable([this] { read_words(); });
  reaper_.watch(child_,
                [this](const ChildExit& end) { ended(end.wait_status); });
}

void PostChild::read_words() {
  constexpr size_t kMax = 1024;
  char buffer[512];
  const ssize_t n = ::read(words_.get(), buffer, sizeof buffer);
  if (n <= 0) {
    words_watch_->stop_reading();
    return;
  }
  if (problem_.size() < kMax) problem_.append(buffer, static_cast<size_t>(n));
}

void PostChild::ended(int wait_status) {
  child_ = 0;
  if (words_) read_words();
  words_watch_.reset();
  words_.reset();
  std::string problem(trim(problem_));
  if (wait_status == 0) {
    problem.clear();
  } else if (problem.empty()) {
    problem = "the server did not answer in time";
  }
  if (const auto done = std::exchange(done_, nullptr)) done(problem);
}

void PostChild::stop() {
  if (child_ == 0) return;
  reaper_.forget(child_);
  ::kill(std::exchange(child_, 0), SIGKILL);
  words_watch_.reset();
  words_.reset();
  done_ = nullptr;
}

}  // namespace muster
