// SPDX-License-Identifier: Apache-2.0
// AgentHelper: a process for work that may block (name resolution, an mpirun's
// version), so that heartbeats go on and a deadline holds: it kills the helper.
// A fork of the agent, or `muster-agent SUBCOMMAND` if the work needs a process
// image of its own; text comes out. Refuses: answers above 4 MiB. Loop thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"

namespace muster {

class AgentHelper {
 public:
  // nullopt: it failed, said nothing, or was too slow.
  using Done = std::function<void(std::optional<std::string> answer)>;
  // Runs in the fork, which has the agent's memory but not its descriptors.
  using Work = std::function<std::string()>;

  // `done` is called once, never from within the constructor, and may destroy
  // this object. A helper that still runs then, or at destruction, is killed.
  AgentHelper(Loop& loop, Reaper& reaper, const std::string& binary,
              const std::string& subcommand, const std::string& input,
              Milliseconds deadline, Done done);
  AgentHelper(Loop& loop, Reaper& reaper, const Work& work,
              Milliseconds deadline, Done done);
  ~AgentHelper();
  AgentHelper(const AgentHelper&) = delete;
  AgentHelper& operator=(const AgentHelper&) = delete;

 private:
  Status start(const std::string& binary, const std::string& subcommand,
               const std::string& input);
  Status start(const Work& work);
  void started(pid_t pid, UniqueFd out);
  void run(const Status& start, Milliseconds deadline);
  void read_some();
  void finish(bool complete);
  void end();

  Loop& loop_;
  Reaper& reaper_;
  Done done_;
  pid_t pid_ = 0;
  UniqueFd out_;
  std::string answer_;
  std::optional<FdWatch> watch_;
  Timer deadline_;
};

}  // namespace muster
