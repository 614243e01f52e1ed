// SPDX-License-Identifier: Apache-2.0
// pid 1 of a worker pod: reaps everything, listens, starts agents, passes
// signals on, and decides when to leave. It parses no network bytes and should
// never crash, so it does almost nothing itself. Leaves with: 0 released after
// a successful job, or stopped while idle; 143/130 stopped (TERM/INT) while a
// job ran; 201 its launcher did not come back; 100 it could not start. Owns
// server and spawner; one thread.
#pragma once

#include <memory>
#include <string>

#include "base/loop.h"
#include "base/reaper.h"
#include "sshd-lite/keys.h"
#include "sshd-lite/server.h"
#include "worker/base/agent_helper.h"
#include "worker/facts/gpu_facts.h"
#include "worker/pod/pod_options.h"
#include "worker/pod/spawner.h"

namespace muster {

class PodWorker {
 public:
  PodWorker(Loop& loop, PodOptions options);

  // Listens. Error: no key, no port, …, with what to do.
  Status start();
  // The loop has ended when this is known.
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  Status open_keys();
  Status open_audit(AuditOptions& out);
  void make_spawner();
  Status make_server();
  void learn();
  void announce(int port, const std::string& libssh) const;
  void on_program_exit(const ProgramExit& exit);
  void on_idle();
  void on_stop_signal(int signal);
  void consider_release(int wait_status);
  void consider_orphan(int wait_status);
  void leave(int exit_code, const std::string& why);

  Loop& loop_;
  PodOptions options_;
  Reaper reaper_;
  SignalWatch signals_;
  Timer stop_timer_;
  Timer orphan_timer_;
  UniqueFd audit_file_;
  std::unique_ptr<KeyStore> keys_;
  std::unique_ptr<Spawner> spawner_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<AgentHelper> learning_;
  GpuFactsProcess gpu_facts_;
  int stop_signal_ = 0;
  bool job_cut_ = false;
  bool released_ = false;
  bool leaving_ = false;
  int exit_code_ = 0;
};

}  // namespace muster
