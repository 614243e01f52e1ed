// SPDX-License-Identifier: Apache-2.0
// AgentStacks: answers with the stacks of this pod's ranks. Stops each for less
// than a millisecond, as its parent may, to copy registers and stack; a helper
// process finds the names in the copies, so that their contents cannot harm
// ranks or agent. Other helpers ask NCCL (agent_ras.h) and read PyTorch's
// records (agent_flight.h) on the launcher's request; the latter of ranks that
// have ended, too. Refuses: a second question while it answers one. Loop
// thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/reaper.h"
#include "stacks/process_stack.h"
#include "wire/stack_messages.h"
#include "worker/base/agent_channel.h"
#include "worker/base/agent_helper.h"
#include "worker/hang/flight_places.h"
#include "worker/processes/agent_processes.h"

namespace muster {

class AgentStacks {
 public:
  AgentStacks(Loop& loop, Reaper& reaper, AgentProcesses& processes,
              FlightPlaces& places, SendFrame send);

  // `binary`: of muster-agent, for the helper. true: the frame was for us.
  bool frame(const wire::Frame& frame, const std::string& binary);

 private:
  struct Looked {
    wire::RankStack rank;
    std::optional<StackSnapshot> snapshot;
  };

  void begin(const wire::StackRequest& request);
  void note_raised(const std::vector<std::string>& raised);
  void ask_nccl();
  void read_flight(bool ask);
  void stopped(pid_t pid, int wait_status);
  void all_copied();
  void answer();  // once all are there

  Loop& loop_;
  Reaper& reaper_;
  AgentProcesses& processes_;
  FlightPlaces& places_;
  SendFrame send_;
  bool busy_ = false;
  uint32_t id_ = 0;
  std::string binary_;
  int signal_ = 0;
  std::map<pid_t, Looked> ranks_;
  std::string raised_;  // of ranks_, for the helper
  size_t waiting_ = 0;
  Timer deadline_;
  std::unique_ptr<AgentHelper> helper_;
  bool stacks_wait_ = false;  // not there yet
  bool nccl_waits_ = false;
  std::string nccl_;
  std::unique_ptr<AgentHelper> nccl_helper_;
  bool flight_waits_ = false;
  std::string flight_;
  std::unique_ptr<AgentHelper> flight_helper_;
};

// `muster-agent stacks`: snapshots on stdin, a StackReply on stdout.
int stacks_main();

}  // namespace muster
