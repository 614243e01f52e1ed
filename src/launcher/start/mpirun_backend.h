// SPDX-License-Identifier: Apache-2.0
// MpirunBackend: the image's own mpirun starts the ranks. It runs under the
// launcher pod's agent; its remote-shell agent is our relay, so each daemon
// that it wants on a host becomes a Start frame to that host's agent: no second
// ssh handshake, any transport. Each rank runs under the rank wrapper and
// attaches to the agent of its pod, which gives us its lines and its wait
// status. Owns the relay socket; the hostfile must exist. Runs a script
// (--once) likewise, in which any mpirun is ours through the drop-in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/connect/fleet.h"
#include "launcher/start/backend.h"
#include "wire/relay_server.h"

namespace muster {

struct MpirunPlan {
  std::vector<std::string> argv;  // the complete mpirun line
  std::string program;            // its file; empty: argv[0], by PATH
  Environment env;                // for mpirun itself, on top of the launcher's
  std::vector<std::string> unset;
  std::string cwd;
  std::string own_host;               // the launcher's pod in our hostfile
  std::string source = "mpirun";      // how its own lines are tagged
  std::string socket_path;            // of the relay
  std::vector<Environment> node_env;  // by node: for daemons and their ranks
  std::vector<std::vector<std::string>> node_unset;
  std::vector<Environment> rank_env;  // by node: told to each rank wrapper
  // By node and local rank: its place. Empty: no placement to pass on.
  std::vector<std::vector<Environment>> local_rank_env;
  std::string placement;  // "--bind-to core", as given; empty: not given
  bool wants_stdin = false;
};

class MpirunBackend : public Backend {
 public:
  MpirunBackend(Loop& loop, Fleet& fleet, MpirunPlan plan,
                BackendEvents events);
  ~MpirunBackend() override;

  void start() override;
  void node_lost(uint16_t node) override;

 private:
  static constexpr ProcessKey kTool{0, 1};  // mpirun itself, or the script

  Status open_relay();
  void start_daemon(uint32_t relay_id, const wire::RelayRequest& relay);
  // nullopt: no running daemon has this id.
  [[nodiscard]] std::optional<ProcessKey> daemon_of(uint32_t relay_id) const;
  void listen();
  // nullopt: this process is not one of mpirun's daemons, or has ended.
  [[nodiscard]] std::optional<uint32_t> relay_of(ProcessKey daemon) const;
  // The same, for a process that has ended now.
  std::optional<uint32_t> take_relay(ProcessKey daemon);
  void daemon_output(uint32_t relay_id, const wire::Frame& frame);
  void start_failed(ProcessKey key, const wire::Frame& frame);
  void exited(ProcessKey key, const wire::Frame& frame);
  void attached(uint16_t node, const wire::Frame& frame);
  void check_place(uint16_t node, const wire::Attached& rank);
  // The node that mpirun means by a possibly shortened name; -1: unknown.
  [[nodiscard]] int node_of(const std::string& host) const;

  Loop& loop_;
  Fleet& fleet_;
  MpirunPlan plan_;
  BackendEvents events_;
  std::unique_ptr<wire::RelayServer> relay_;
  // The nodes of daemons that run, by relay; their ids there follow kTool's.
  std::map<uint32_t, uint16_t> daemons_;
  bool tool_ended_ = false;
  bool misplaced_ = false;  // and reported
};

}  // namespace muster
