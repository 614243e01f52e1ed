// SPDX-License-Identifier: Apache-2.0
// Starts the programs that a connection child asks for in this pod, if the exec
// policy allows it, and cleans up after them: a tag in the environment marks
// all descendants of one agent, so it finds and ends those that outlive the
// agent. Refuses: everything the policy refuses. Owned by pid 1, on its loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/reaper.h"
#include "sshd-lite/exec_policy.h"
#include "sshd-lite/server.h"

namespace muster {

struct ProgramExit {
  ConnectionId connection = 0;
  int wait_status = 0;
  bool is_agent = false;
};

struct SpawnerOptions {
  ExecPolicy policy;
  Environment env;                 // of every program, before the client's
  Milliseconds sweep_grace{2000};  // SIGTERM to SIGKILL for leftovers
};

class Spawner {
 public:
  // `on_exit` runs once per started program; on_idle when the last program and
  // all its leftovers have ended.
  Spawner(Loop& loop, Reaper& reaper, SpawnerOptions options,
          std::function<void(const ProgramExit&)> on_exit,
          std::function<void()> on_idle);
  ~Spawner();

  // For every agent from now on; no other program sees it.
  void add_agent_env(std::string_view name, std::string value);
  Result<StartedProgram> start(ConnectionId connection,
                               const ExecRequest& request);
  void signal(ConnectionId connection, int signal);
  // The launcher has closed it. An agent leaves by itself, unless it is stopped
  // (SIGSTOP): that one gets a KILL after a moment.
  void connection_closed(ConnectionId connection);
  void signal_all(int signal);
  // KILL everything, with all that carries a tag of ours.
  void kill_all();
  // Agents of jobs that are running now.
  [[nodiscard]] size_t agents() const;
  [[nodiscard]] bool idle() const;

 private:
  struct Program {
    pid_t pid = 0;
    ConnectionId connection = 0;
    bool is_agent = false;
    std::string tag;
    std::unique_ptr<Timer> look;  // once its connection is closed
    int stopped = 0;              // looks in a row with that result
  };
  struct Sweep {
    std::string tag;
    bool killed = false;  // the agent: it could not clean up
    int round = 0;
    std::unique_ptr<Timer> timer;
  };

  void ended(const ChildExit& exit);
  void sweep_later(const std::string& tag, bool killed);
  void sweep_round(const std::string& tag);
  void look_for_stopped(ConnectionId connection);
  void settle();

  Loop& loop_;
  Reaper& reaper_;
  SpawnerOptions options_;
  Environment agent_env_;
  std::function<void(const ProgramExit&)> on_exit_;
  std::function<void()> on_idle_;
  std::list<Program> programs_;
  std::list<Sweep> sweeps_;
  bool killing_ = false;
};

}  // namespace muster
