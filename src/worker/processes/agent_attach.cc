// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_attach.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "base/listen.h"
#include "worker/base/agent_sweep.h"
#include "worker/rank/crowded.h"
#include "worker/rank/rank_protocol.h"

namespace muster {

namespace {

// The plan for a local rank counts only if the MPI put as many ranks here as
// planned; otherwise it is another one's.
Environment environment_for(const AgentProcessInfo& parent,
                            const wire::Attached& rank) {
  Environment env = parent.rank_env;
  // mpirun compares ranks with slots, of which a pod may have more than CPUs;
  // its ranks would poll.
  constexpr const char* kYield = "OMPI_MCA_mpi_yield_when_idle";
  if (crowded(rank.local_size) && find_env(env, kYield) == nullptr) {
    set_env(env, kYield, "1");
  }
  const auto& places = parent.local_rank_env;
  if (rank.local_rank < 0 || rank.local_rank >= rank.local_size ||
      static_cast<size_t>(rank.local_size) != places.size()) {
    return env;
  }
  const auto& own = places[static_cast<size_t>(rank.local_rank)];
  env.insert(env.end(), own.begin(), own.end());
  return env;
}

}  // namespace

AgentAttach::AgentAttach(Loop& loop, AgentProcesses& processes)
    : loop_(loop), processes_(processes) {}

Status AgentAttach::listen(const std::string& run_dir) {
  auto listener = listen_on_path(run_dir + "/" + agent_socket_name(::getpid()),
                                 SOCK_SEQPACKET);
  if (!listener) return fail(listener.error());
  listener_ = std::move(*listener);
  watch_ = std::make_unique<AcceptWatch>(
      loop_, listener_.get(),
      [this](UniqueFd socket) { accept_peer(std::move(socket)); });
  return {};
}

void AgentAttach::accept_peer(UniqueFd socket) {
  const auto pid = own_peer(socket.get());
  if (!pid) return;
  Peer& peer = peers_.emplace_back();
  peer.socket = std::move(socket);
  peer.pid = *pid;
  peer.watch = std::make_unique<FdWatch>(loop_, peer.socket.get());
  peer.watch->on_readable([this, &peer] { read_from(peer); });
}

void AgentAttach::read_from(Peer& peer) {
  auto received = receive_with_fds(peer.socket.get(), kRankMessageLimit);
  if (!received) {
    if (received.error().code != "again") drop(peer);
    return;
  }
  if (received->eof || !handle(peer, *received)) drop(peer);
}

bool AgentAttach::handle(Peer& peer, Received& received) {
  const auto message = parse_rank_message(received.bytes);
  if (!message) return false;
  switch (message->tag) {
    case RankMessage::kAttach:
      return handle_attach(peer, message->body, std::move(received.fds));
    case RankMessage::kStarted:
      return handle_started(peer, message->body);
    case RankMessage::kExited: {
      const auto exit = wire::from_json<wire::Exited>(message->body);
      if (!exit || peer.id == 0) return false;
      peer.exited = true;
      processes_.attached_exited(peer.id, *exit);
      return holding_;
    }
    case RankMessage::kEnvironment:
      break;
  }
  return false;
}

bool AgentAttach::handle_attach(Peer& peer, std::string_view body,
                                std::vector<UniqueFd> fds) {
  if (peer.id != 0 || peer.pipes || fds.size() != 2) return false;
  const auto attached = wire::from_json<wire::Attached>(body);
  if (!attached) return false;
  peer.pipes.emplace();
  peer.pipes->out = std::move(fds[0]);
  peer.pipes->err = std::move(fds[1]);
  Environment env;
  if (const AgentProcess* parent = processes_.ancestor_of(peer.pid)) {
    peer.parent_id = parent->info().id;
    env = environment_for(parent->info(), *attached);
  }
  // A foreign launcher may have carried these over from another pod.
  const auto& identity = processes_.identity();
  set_env(env, kLaunchIdVariable, identity.launch_id);
  set_env(env, kAgentKeyVariable, identity.agent_key);
  set_env(env, kRunDirVariable, identity.run_dir);
  return send_with_fds(peer.socket.get(),
                       encode_rank_message(RankMessage::kEnvironment,
                                           encode_environment(env)),
                       {})
      .has_value();
}

bool AgentAttach::handle_started(Peer& peer, std::string_view body) {
  auto attached = wire::from_json<wire::Attached>(body);
  if (!attached || !peer.pipes) return false;
  attached->parent_id = peer.parent_id;
  peer.id = processes_.attach(std::move(*attached), peer.pid,
                              *std::exchange(peer.pipes, std::nullopt));
  return true;
}

void AgentAttach::release_wrappers() {
  holding_ = false;
  peers_.remove_if([](const Peer& peer) { return peer.exited; });
}

void AgentAttach::drop(Peer& peer) {
  if (peer.id != 0 && !peer.exited) {
    wire::Exited killed;
    killed.wait_status = SIGKILL;  // its program dies with the wrapper
    processes_.attached_exited(peer.id, killed);
  }
  peers_.remove_if([&peer](const Peer& other) { return &other == &peer; });
}

}  // namespace muster
