// SPDX-License-Identifier: Apache-2.0
// AgentProcesses: the table of the job's processes in this pod, by frame id.
// Starts programs for the launcher, takes in ranks that attached through the
// wrapper, routes credit, stdin and signals, and collects the exits. Refuses:
// ids in use, ids out of range. Ignores frames for unknown ids: they may cross
// with an exit. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/reaper.h"
#include "wire/messages.h"
#include "wire/pod_counters.h"
#include "worker/pmix/agent_pmi.h"
#include "worker/processes/agent_process.h"

namespace muster {

class AgentProcesses {
 public:
  struct Identity {
    std::string launch_id;
    std::string agent_key;
    std::string run_dir;
  };

  AgentProcesses(Loop& loop, Reaper& reaper, SendFrame send,
                 std::function<int64_t()> oom_kills);

  void set_identity(Identity identity) { identity_ = std::move(identity); }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  // The NCCL that the pod's first rank has loaded.
  void tell_nccl(wire::PodCounters& out) const;
  // Serves the ranks that start() starts from now on; may be null.
  void set_pmi(AgentPmi* pmi) { pmi_ = pmi; }

  // Answers with kStarted or kStartFailed.
  void start(uint32_t id, const wire::StartRequest& request);
  // Takes in a process that another program started and waits for; answers with
  // kAttached. Its end comes through attached_exited().
  uint32_t attach(wire::Attached attached, pid_t wrapper,
                  AgentProcess::Pipes pipes);
  void attached_exited(uint32_t id, const wire::Exited& exit);

  // id 0: all. Signals process groups if we made them.
  void signal(uint32_t id, int number);
  void signal_ranks(int number);
  void signal_tools(int number);  // daemons, mpirun, a script
  void add_credit(uint32_t id, uint8_t stream, uint32_t bytes);
  void write_stdin(uint32_t id, std::string_view bytes);
  void end_stdin(uint32_t id);

  [[nodiscard]] bool empty() const { return processes_.empty(); }
  [[nodiscard]] bool any_running() const;
  [[nodiscard]] std::vector<const AgentProcess*> running_ranks() const;
  // Whether `pid` came in through attach(), or is the wrapper around one that
  // did.
  [[nodiscard]] bool is_attached(pid_t pid) const;
  // The ancestor of `pid` in the table, or null.
  [[nodiscard]] const AgentProcess* ancestor_of(pid_t pid) const;

 private:
  [[nodiscard]] Environment environment_for(
      const wire::StartRequest& request) const;
  void add(AgentProcessInfo info, AgentProcess::Pipes pipes, uint32_t credit);
  void refuse(uint32_t id, const Error& error);
  void log(const std::string& level, const std::string& text);

  Loop& loop_;
  Reaper& reaper_;
  SendFrame send_;
  std::function<int64_t()> oom_kills_;
  Identity identity_;
  LoadedNccl nccl_;  // of the first rank
  int nccl_rank_ = -1;
  bool looks_for_nccl_ = false;
  AgentPmi* pmi_ = nullptr;
  uint32_t next_attached_id_ = wire::kAttachedIds;
  RecentProcesses recent_;
  std::map<uint32_t, std::unique_ptr<AgentProcess>> processes_;
};

}  // namespace muster
