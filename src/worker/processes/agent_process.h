// SPDX-License-Identifier: Apache-2.0
// AgentProcess: one process of the job in its agent, started by the agent or
// attached through the rank wrapper: its two output streams, its stdin, and its
// end. Sends kExited after both streams have ended; for a failed rank also
// before, if a grandchild holds them, so that the other ranks need not wait.
// Refuses: to wait for ever for a grandchild that holds the pipes (2 s). Loop
// thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "wire/messages.h"
#include "worker/base/agent_sweep.h"
#include "worker/processes/agent_input.h"
#include "worker/processes/agent_output.h"
#include "worker/rank/loaded_mpi.h"
#include "worker/rank/loaded_nccl.h"

namespace muster {

struct AgentProcessInfo {
  uint32_t id = 0;
  pid_t pid = 0;
  int rank = -1;
  // The rank wrapper around a process that a foreign daemon started; 0: ours.
  pid_t wrapper = 0;
  std::string program;
  Environment rank_env;                     // for rank wrappers below it
  std::vector<Environment> local_rank_env;  // likewise
  // mpirun's servers for a rank of several; nullopt: we serve it ourselves.
  std::optional<MpiServers> servers;
  int64_t oom_kills_before = -1;  // the cgroup's counter when it started
  // Called once with the NCCL that it has loaded; may be empty.
  std::function<void(LoadedNccl)> found_nccl;
};

class AgentProcess {
 public:
  struct Pipes {
    UniqueFd in;  // may be empty
    UniqueFd out;
    UniqueFd err;
  };

  // `complete` runs once, after kExited was sent; it must not destroy this.
  // `recent` outlives this.
  AgentProcess(Loop& loop, RecentProcesses& recent, SendFrame send,
               AgentProcessInfo info, Pipes pipes, uint32_t credit,
               std::function<void()> complete);

  [[nodiscard]] const AgentProcessInfo& info() const { return info_; }
  [[nodiscard]] bool running() const { return !exited_; }
  void add_credit(uint8_t stream, uint32_t bytes);
  // false: more than the credit allows.
  [[nodiscard]] bool write_stdin(std::string_view bytes);
  void end_stdin();
  void signal(int number) const;
  // `oom_kills_now`: the cgroup's counter, -1 if unknown.
  void exited(wire::Exited exit, int64_t oom_kills_now);

 private:
  void sample_later(Milliseconds delay);
  void look_for_mpi();
  void tell_lonely();
  void look_for_nccl();
  void stream_ended();
  void tell_failure();
  void give_up_streams();
  void send_exited();

  RecentProcesses& recent_;
  SendFrame send_;
  AgentProcessInfo info_;
  std::function<void()> complete_;
  std::optional<wire::Exited> exited_;
  Clock::time_point exited_at_;
  bool reported_ = false;
  bool loaded_mpi_ = false;
  std::string lonely_mpi_;
  bool told_lonely_ = false;
  Clock::time_point started_ = Clock::now();
  Timer sample_timer_;
  Timer linger_;
  std::unique_ptr<InputPipe> in_;
  OutputStream out_;
  OutputStream err_;
};

}  // namespace muster
