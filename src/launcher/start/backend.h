// SPDX-License-Identifier: Apache-2.0
// The interface between a launch and the starter of its ranks: given a plan and
// connected agents, a backend starts the ranks and reports their fate. It gets
// frames about its processes from the fleet itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "launcher/model/process_key.h"
#include "launcher/model/rank_table.h"
#include "wire/messages.h"

namespace muster {

struct BackendEvents {
  std::function<void(RankRecord)> on_rank_starting;
  std::function<void(ProcessKey, int pid)> on_rank_running;
  std::function<void(ProcessKey, const wire::StartFailed&)> on_rank_refused;
  // Called twice if the first call says that output is still on its way.
  std::function<void(ProcessKey, const wire::Exited&)> on_rank_exited;
  // A process that writes to the job's output but is not a rank.
  std::function<void(ProcessKey, std::string source)> on_tool_output;
  // The backend as a whole cannot go on (mpirun missing, wrong, hung).
  std::function<void(Error)> on_failed;
  // A rank called MPI_Abort; it ends by itself.
  std::function<void(ProcessKey, int code, std::string message)>
      on_rank_aborted;
  // Ranks cannot go on together: `rank` is missing, or left too early; -1: not
  // one alone, or a daemon cannot start them.
  std::function<void(Error, int rank)> on_world_broken;
  // Everything that the backend itself started has ended. `tool`: the end of
  // mpirun or the script; success for native starts.
  std::function<void(const wire::Exited& tool)> on_finished;
  // The processes that take the launcher's stdin.
  std::function<void(ProcessKey)> on_wants_stdin;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual void start() = 0;
  // An agent is lost: the backend's processes there have ended.
  virtual void node_lost(uint16_t node) = 0;
};

}  // namespace muster
