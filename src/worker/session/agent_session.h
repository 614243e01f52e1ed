// SPDX-License-Identifier: Apache-2.0
// AgentSession: one launch in one pod, from hello to the end of the last
// process.
//
//   kHello     waits for the launcher's first frame (deadline)
//   kClaiming  evicts agents of a dead launcher
//   kServing   facts, probes, processes, heartbeats
//   kLeaving   stops the remaining processes, then writes out the queue
//
// Refuses: other protocol versions, anything before hello, a launcher that
// falls silent. Owns everything the agent has; runs on the loop's thread.
#pragma once

#include <sys/signalfd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/known_files.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "base/runtime_dir.h"
#include "wire/agent_exit_code.h"
#include "wire/messages.h"
#include "worker/base/agent_channel.h"
#include "worker/base/agent_helper.h"
#include "worker/facts/agent_health.h"
#include "worker/facts/agent_reach.h"
#include "worker/facts/gpu_watch.h"
#include "worker/facts/memory_watch.h"
#include "worker/hang/agent_stacks.h"
#include "worker/pmix/agent_pmi.h"
#include "worker/processes/agent_attach.h"
#include "worker/processes/agent_processes.h"
#include "worker/session/agent_listener.h"
#include "worker/session/agent_lock.h"
#include "worker/session/agent_stopper.h"

namespace muster {

struct AgentOptions {
  int in = 0;
  int out = 1;
  std::string binary;  // path of muster-agent, for the helper of stacks
  KnownFiles known_files;
  std::string gpu_facts;  // where the pod's worker answers; empty: nowhere
  std::string root;       // put before /proc, /sys, /dev (tests)
  Milliseconds hello_deadline{30000};
};

class AgentSession {
 public:
  AgentSession(Loop& loop, AgentOptions options);

  // Valid after the loop has stopped.
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  enum class Phase { kHello, kClaiming, kServing, kLeaving };

  void on_frame(const wire::Frame& frame);
  void on_end(ChannelEnd kind, const std::string& text);
  void on_sigterm(const signalfd_siginfo& info);

  void handle_hello(const wire::Frame& frame);
  void claimed(Result<int> evicted);
  void serve(const wire::Frame& frame);
  void handle_facts(uint32_t id, const std::string& payload);
  void handle_probe(const wire::Frame& frame);
  void handle_start(const wire::Frame& frame);
  void handle_stop(const wire::Frame& frame);
  void handle_bye(const wire::Frame& frame);

  void heartbeat();
  void watch_silence();
  void stop_and_leave(Milliseconds grace, int exit_code,
                      Milliseconds tool_delay = Milliseconds{0});
  void leave(int exit_code);
  void refuse(const std::string& code, const std::string& text);
  void run_helper(const AgentHelper::Work& work, Milliseconds deadline,
                  AgentHelper::Done done);
  void log(const std::string& level, const std::string& text);
  // Decodes, or reports to the launcher that its frame is malformed.
  template <class Message>
  bool decode(const wire::Frame& frame, Message& out);

  Loop& loop_;
  AgentOptions options_;
  Phase phase_ = Phase::kHello;
  int exit_code_ = kAgentProtocol;
  bool said_bye_ = false;
  bool stop_answer_owed_ = false;
  wire::Hello hello_;
  RuntimeDir run_dir_;
  std::vector<wire::Frame> early_;  // came while claiming the pod
  SendFrame send_;
  HealthSampler health_;
  MemoryWatch memory_watch_;
  Reaper reaper_;
  GpuWatch gpu_watch_;
  AgentLock lock_;
  AgentPmi pmi_;
  AgentProcesses processes_;
  AgentAttach attach_;
  FlightPlaces flight_places_;
  AgentStacks stacks_;
  AgentStopper stopper_;
  ProbeListener listener_;
  std::vector<std::unique_ptr<AgentHelper>> helpers_;
  std::unique_ptr<AgentReach> reach_;
  Timer hello_timer_;
  Timer heartbeat_timer_;
  Timer silence_timer_;
  SignalWatch sigterm_;
  AgentChannel channel_;  // last: its callbacks use everything above
};

}  // namespace muster
