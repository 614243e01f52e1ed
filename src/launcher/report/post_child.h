// SPDX-License-Identifier: Apache-2.0
// PostChild: one `muster-agent post-status`, a child that sends a body to an
// HTTPS server and ends, so that a slow or wrong server costs a launch nothing.
// One at a time. Reports on the loop that the child ended, or could not start.
// Its destructor ends the child. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "base/spawn.h"

namespace muster {

class PostChild {
 public:
  // `problem`: empty if the server accepted; else the child's output.
  using Done = std::function<void(const std::string& problem)>;

  PostChild(Loop& loop, Reaper& reaper, std::string agent);
  ~PostChild();

  // `env` names server, token and authority (worker/post/post_status.h).
  void start(const std::string& body, Environment env, Done done);
  [[nodiscard]] bool running() const { return child_ != 0; }
  void stop();  // without a report

 private:
  void read_words();
  void ended(int wait_status);

  Loop& loop_;
  Reaper& reaper_;
  std::string agent_;
  pid_t child_ = 0;
  UniqueFd words_;  // the child's stderr
  std::unique_ptr<FdWatch> words_watch_;
  std::string problem_;
  Done done_;
};

}  // namespace muster
