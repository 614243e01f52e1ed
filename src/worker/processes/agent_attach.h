// SPDX-License-Identifier: Apache-2.0
// AgentAttach: the socket at which rank wrappers report. A wrapper passes the
// read ends of its program's pipes, gets the environment to add, and stays
// connected until it has reported the exit; a wrapper that vanishes counts as a
// kill of its rank. Refuses: peers of another uid, packets out of order. Loop
// thread.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "wire/messages.h"
#include "worker/processes/agent_processes.h"

namespace muster {

class AgentAttach {
 public:
  AgentAttach(Loop& loop, AgentProcesses& processes);

  // Opens the socket in `run_dir`.
  Status listen(const std::string& run_dir);
  // mpirun takes a wrapper's end for its rank's. From here on wrappers whose
  // ranks have ended stay until released.
  void hold_wrappers() { holding_ = true; }
  void release_wrappers();

 private:
  struct Peer {
    UniqueFd socket;
    pid_t pid = 0;
    std::optional<AgentProcess::Pipes> pipes;  // between kAttach and kStarted
    uint32_t parent_id = 0;
    uint32_t id = 0;  // 0: not started yet
    bool exited = false;
    std::unique_ptr<FdWatch> watch;
  };

  void accept_peer(UniqueFd socket);
  void read_from(Peer& peer);
  bool handle(Peer& peer, Received& received);
  bool handle_attach(Peer& peer, std::string_view body,
                     std::vector<UniqueFd> fds);
  bool handle_started(Peer& peer, std::string_view body);
  void drop(Peer& peer);

  Loop& loop_;
  AgentProcesses& processes_;
  UniqueFd listener_;
  std::unique_ptr<AcceptWatch> watch_;
  std::list<Peer> peers_;
  bool holding_ = false;
};

}  // namespace muster
