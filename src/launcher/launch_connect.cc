// SPDX-License-Identifier: Apache-2.0
// Phase "connect": which nodes there are, by which transport each is reached,
// and how the fleet is told.
#include <pwd.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/incarnation.h"
#include "launcher/launch.h"
#include "launcher/process_transport.h"
#include "launcher/ssh_transport.h"

namespace muster {

namespace {

std::string login_name(const LaunchOptions& options) {
  if (!options.ssh_user.empty()) return options.ssh_user;
  const passwd* entry = ::getpwuid(::geteuid());
  // sshd-lite takes any name; a real sshd needs an existing one.
  return entry != nullptr ? entry->pw_name : "root";
}

}  // namespace

std::vector<FleetNode> Launch::fleet_nodes() {
  std::vector<FleetNode> nodes;
  nodes.push_back(
      {discovery_.hostname, {}, [this] { return make_transport(0); }});
  bool self_taken = false;
  for (const JobHost& host : discovery_.hosts) {
    if (host.is_self && !self_taken) {
      self_taken = true;
      nodes[0].host = host.entry.name;
      node_of_host_.push_back(0);
      continue;
    }
    const auto node = static_cast<uint16_t>(nodes.size());
    node_of_host_.push_back(node);
    nodes.push_back(
        {host.entry.name, {}, [this, node] { return make_transport(node); }});
  }
  if (options_.local) {
    // Emulated nodes share one machine, and one agent per job is the rule.
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].job = launch_id_ + "-" + std::to_string(i);
    }
  }
  const bool looked_up = !options_.local && options_.exec_transport.empty();
  for (size_t i = 1; i < nodes.size(); ++i) nodes[i].looked_up = looked_up;
  return nodes;
}

std::unique_ptr<Transport> Launch::make_transport(uint16_t node) {
  const std::string& host = fleet_->dialer(node).host();
  if (node == 0 || options_.local) {
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, std::vector<std::string>{agent_, "agent"},
        current_environment());
  }
  if (!options_.exec_transport.empty()) {
    std::vector<std::string> argv = options_.exec_transport;
    for (std::string& word : argv) {
      const size_t at = word.find("{host}");
      if (at != std::string::npos) word.replace(at, 6, host);
    }
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, std::move(argv), current_environment());
  }
  SshTransportOptions ssh;
  ssh.host = host;
  ssh.port = discovery_.contract.ssh_port;
  // Where nothing names the port, every third attempt tries the other usual.
  if (discovery_.contract.try_port_22 &&
      fleet_->dialer(node).attempts() % 3 == 0) {
    ssh.port = 22;
  }
  ssh.user = login_name(options_);
  ssh.keys = &*discovery_.keys;
  return std::make_unique<SshTransport>(loop_, *resolver_, std::move(ssh));
}

void Launch::connect() {
  clock_.enter("connect");
  wire::Hello hello;
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocol;
  hello.version = MUSTER_VERSION;
  hello.launch_id = launch_id_;
  hello.job = discovery_.keys ? discovery_.keys->fingerprint : launch_id_;
  hello.incarnation = launcher_incarnation(discovery_.hostname);
  hello.heartbeat_ms = static_cast<int>(options_.timeouts.heartbeat_ms);
  hello.silence_ms = static_cast<int>(options_.timeouts.silence_ms);
  hello.grace_ms = static_cast<int>(options_.timeouts.grace_ms);
  FleetEvents events;
  // Its facts are gathered while others are still waited for.
  events.on_node_ready = [this](uint16_t node) {
    early_facts_.erase(node);
    fleet_->send(node, wire::FrameType::kFactsRequest, kFactsQuestion,
                 discovery_.mpirun);
  };
  events.on_ready = [this] {
    ready_ns_ = realtime_ns();
    inspect();
  };
  events.on_failed = [this](std::vector<Laggard> laggards, bool permanent) {
    laggards_ = std::move(laggards);
    fail(Error{permanent ? laggards_[0].error.code : "workers_not_ready",
               std::to_string(laggards_.size()) + " of " +
                   std::to_string(discovery_.hosts.size()) +
                   " workers are not ready",
               laggards_text(laggards_, 8),
               {},
               likely_cause(laggards_[0].error)});
  };
  events.on_frame = [this](uint16_t node, wire::Frame frame) {
    on_frame(node, std::move(frame));
  };
  events.on_lost = [this](uint16_t node, Error error) {
    on_lost(node, std::move(error));
  };
  resolver_ = std::make_unique<Resolver>(loop_, ResolverOptions{});
  fleet_ =
      std::make_unique<Fleet>(loop_, hello, fleet_nodes(), std::move(events));
  survey_ = std::make_unique<Survey>(loop_, *fleet_);
  log::info("connecting to {} from {}",
            discovery_.hosts.size() == 1
                ? "1 host"
                : std::to_string(discovery_.hosts.size()) + " hosts",
            discovery_.hosts_source);
  fleet_->start(Milliseconds{options_.timeouts.connect_ms});
  write_status();
}

}  // namespace muster
