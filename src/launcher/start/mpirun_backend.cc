// SPDX-License-Identifier: Apache-2.0
#include "launcher/start/mpirun_backend.h"

#include <signal.h>

#include <utility>

#include "base/log.h"
#include "job/hostfile.h"
#include "launcher/model/exited_frame.h"

namespace muster {

MpirunBackend::MpirunBackend(Loop& loop, Fleet& fleet, MpirunPlan plan,
                             BackendEvents events)
    : loop_(loop),
      fleet_(fleet),
      plan_(std::move(plan)),
      events_(std::move(events)) {
  listen();
}

MpirunBackend::~MpirunBackend() = default;

Status MpirunBackend::open_relay() {
  wire::RelayServer::Callbacks callbacks;
  callbacks.on_request = [this](uint32_t id,
                                const wire::RelayRequest& request) {
    start_daemon(id, request);
  };
  callbacks.on_stdin = [this](uint32_t id, std::string_view bytes) {
    if (const auto key = daemon_of(id)) {
      fleet_.send(key->node, wire::FrameType::kStdin, key->id, bytes);
    }
  };
  callbacks.on_stdin_eof = [this](uint32_t id) {
    if (const auto key = daemon_of(id)) {
      fleet_.send(key->node, wire::FrameType::kStdinEof, key->id);
    }
  };
  callbacks.on_hangup = [this](uint32_t id) {
    // mpirun killed its "ssh": ends the process that it had started.
    if (const auto key = daemon_of(id)) {
      fleet_.send(key->node, wire::FrameType::kSignal, key->id,
                  wire::to_json(wire::SignalRequest{SIGTERM}));
    }
  };
  callbacks.on_written = [this](uint32_t id, uint8_t stream, uint32_t bytes) {
    if (const auto key = daemon_of(id)) {
      fleet_.send(key->node, wire::FrameType::kOutputCredit, key->id,
                  wire::u32_payload(bytes), stream);
    }
  };
  relay_ = std::make_unique<wire::RelayServer>(loop_, std::move(callbacks));
  return relay_->listen(plan_.socket_path);
}

std::optional<ProcessKey> MpirunBackend::daemon_of(uint32_t relay_id) const {
  const auto found = daemons_.find(relay_id);
  if (found == daemons_.end()) return std::nullopt;
  return ProcessKey{found->second, kTool.id + relay_id};
}

void MpirunBackend::start() {
  if (auto opened = open_relay(); !opened) {
    events_.on_failed(opened.error());
    return;
  }
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kTool;
  request.argv = plan_.argv;
  request.program = plan_.program;
  request.env = plan_.env;
  request.unset = plan_.unset;
  request.cwd = plan_.cwd;
  request.stdin_open = plan_.wants_stdin;
  request.rank_env = plan_.rank_env[0];
  request.local_rank_env = plan_.local_rank_env[0];
  events_.on_tool_output(kTool, plan_.source);
  fleet_.send(kTool.node, wire::FrameType::kStart, kTool.id,
              wire::to_json(request));
  if (plan_.wants_stdin) events_.on_wants_stdin(kTool);
}

int MpirunBackend::node_of(const std::string& host) const {
  if (host == plan_.own_host) return kTool.node;
  for (size_t i = 0; i < fleet_.size(); ++i) {
    if (fleet_.dialer(static_cast<uint16_t>(i)).host() == host) {
      return static_cast<int>(i);
    }
  }
  // ORTE and PRRTE strip the domain unless told otherwise.
  for (size_t i = 0; i < fleet_.size(); ++i) {
    if (first_label(fleet_.dialer(static_cast<uint16_t>(i)).host()) ==
        first_label(host)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void MpirunBackend::start_daemon(uint32_t relay_id,
                                 const wire::RelayRequest& relay) {
  const int node = node_of(relay.host);
  if (node < 0) {
    relay_->failed(relay_id, relay.host + " is not a host of this job");
    return;
  }
  const auto index = static_cast<size_t>(node);
  daemons_[relay_id] = static_cast<uint16_t>(node);
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kDaemon;
  // mpirun composes a shell command line (PATH=…; export …; orted …).
  request.argv = {"/bin/sh", "-c", relay.command};
  request.env = plan_.node_env[index];
  request.unset = plan_.node_unset[index];
  request.stdin_open = relay.stdin_open;
  request.rank_env = plan_.rank_env[index];
  request.local_rank_env = plan_.local_rank_env[index];
  log::debug("{}: mpirun starts: {}", relay.host, relay.command);
  const ProcessKey key = *daemon_of(relay_id);
  fleet_.send(key.node, wire::FrameType::kStart, key.id,
              wire::to_json(request));
}

void MpirunBackend::listen() {
  using wire::FrameType;
  fleet_.on(FrameType::kAttached,
            [this](uint16_t node, const wire::Frame& frame) {
              attached(node, frame);
            });
  fleet_.on(FrameType::kStartFailed,
            [this](uint16_t node, const wire::Frame& frame) {
              start_failed({node, frame.id}, frame);
            });
  fleet_.on(FrameType::kExited,
            [this](uint16_t node, const wire::Frame& frame) {
              exited({node, frame.id}, frame);
            });
  fleet_.on(FrameType::kOutput,
            [this](uint16_t node, const wire::Frame& frame) {
              if (const auto relay = relay_of({node, frame.id})) {
                daemon_output(*relay, frame);
              }
            });
  fleet_.on(FrameType::kStdinCredit,
            [this](uint16_t node, const wire::Frame& frame) {
              const auto relay = relay_of({node, frame.id});
              const auto bytes = wire::parse_u32(frame.payload);
              if (relay && bytes) relay_->stdin_credit(*relay, *bytes);
            });
}

std::optional<uint32_t> MpirunBackend::relay_of(ProcessKey daemon) const {
  const auto found = daemons_.find(daemon.id - kTool.id);
  if (found == daemons_.end() || found->second != daemon.node) {
    return std::nullopt;
  }
  return found->first;
}

std::optional<uint32_t> MpirunBackend::take_relay(ProcessKey daemon) {
  const auto relay = relay_of(daemon);
  if (relay) daemons_.erase(*relay);
  return relay;
}

void MpirunBackend::daemon_output(uint32_t relay_id, const wire::Frame& frame) {
  const auto output = wire::parse_output(frame.payload);
  if (!output || output->bytes.empty()) return;
  relay_->output(relay_id, frame.flags & wire::kStreamMask, output->bytes);
}

void MpirunBackend::start_failed(ProcessKey key, const wire::Frame& frame) {
  const auto refusal = wire::from_json<wire::StartFailed>(frame.payload);
  if (const auto relay = take_relay(key)) {
    relay_->failed(*relay, refusal ? refusal->error.text() : "not started");
    // mpirun only knows that a daemon is lost, or waits for it.
    if (refusal) events_.on_world_broken(refusal->error, -1);
    return;
  }
  if (key != kTool) return;
  tool_ended_ = true;
  Error error{
      "internal", "cannot start " + plan_.argv[0], "no reason given", {}, {}};
  if (refusal) error = refusal->error;
  if (error.where.empty()) error.where = fleet_.dialer(0).host();
  events_.on_failed(std::move(error));
}

void MpirunBackend::exited(ProcessKey key, const wire::Frame& frame) {
  const wire::Exited exit = exited_of(frame);
  if (const auto relay = take_relay(key)) {
    relay_->exited(*relay, exit.wait_status);
  } else if (key == kTool) {
    if (!std::exchange(tool_ended_, true)) {
      events_.on_finished(exit);
    }
  } else if (key.id >= wire::kAttachedIds) {
    events_.on_rank_exited(key, exit);
  }
}

void MpirunBackend::attached(uint16_t node, const wire::Frame& frame) {
  const auto attached = wire::from_json<wire::Attached>(frame.payload);
  if (!attached) return;
  check_place(node, *attached);
  RankRecord record;
  record.rank = attached->rank;
  record.node = node;
  record.host = fleet_.dialer(node).host();
  record.key = {node, frame.id};
  record.pid = attached->pid;
  record.world_size = attached->size;
  const ProcessKey key = record.key;
  events_.on_rank_starting(std::move(record));
  events_.on_rank_running(key, attached->pid);
}

// If the numbers differ, the agent has told the rank nothing about its place.
void MpirunBackend::check_place(uint16_t node, const wire::Attached& rank) {
  const size_t planned = plan_.local_rank_env[node].size();
  const bool said = rank.local_rank >= 0 && rank.local_size > 0;
  if (plan_.placement.empty() || misplaced_ || rank.rank < 0 ||
      (said && static_cast<size_t>(rank.local_size) == planned)) {
    return;
  }
  misplaced_ = true;
  log::warn(
      "{} does not reach the ranks on {}: {}. What to do: say how many there "
      "are with -n, and where with --map-by slot, node or ppr:N:node",
      plan_.placement, fleet_.dialer(node).host(),
      said ? "mpirun put " + std::to_string(rank.local_size) + " there, " +
                 std::to_string(planned) + " were planned"
           : std::string("mpirun does not tell them their number there"));
}

void MpirunBackend::node_lost(uint16_t node) {
  for (auto daemon = daemons_.begin(); daemon != daemons_.end();) {
    const auto [relay, where] = *daemon++;
    if (where != node) continue;
    daemons_.erase(relay);
    relay_->failed(relay, "the worker is lost");
  }
  if (node == 0 && !tool_ended_) {
    tool_ended_ = true;
    wire::Exited lost;
    lost.wait_status = SIGKILL;
    events_.on_finished(lost);
  }
}

}  // namespace muster
