// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/job_channel.h"

#include <algorithm>

#include "job/hostfile.h"
#include "launcher/connect/incarnation.h"
#include "launcher/connect/process_transport.h"
#include "launcher/connect/ssh_transport.h"

namespace muster {

namespace {

void name_host(const std::string& host, std::string& word) {
  const auto put = [&word](std::string_view mark, std::string_view name) {
    const size_t at = word.find(mark);
    if (at != std::string::npos) word.replace(at, mark.size(), name);
  };
  put("{host}", host);
  put("{pod}", first_label(host));
}

}  // namespace

JobChannel::JobChannel(Loop& loop, Reaper& reaper, const LaunchOptions& options,
                       const Discovery& discovery, std::string launch_id,
                       std::string agent)
    : loop_(loop),
      reaper_(reaper),
      options_(options),
      discovery_(discovery),
      launch_id_(std::move(launch_id)),
      agent_(std::move(agent)),
      resolver_(loop, ResolverOptions{}) {}

wire::Hello JobChannel::hello() const {
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
  return hello;
}

std::vector<FleetNode> JobChannel::nodes() {
  std::vector<FleetNode> nodes;
  const auto add = [&](const std::string& host) {
    const auto node = static_cast<uint16_t>(nodes.size());
    FleetNode& added = nodes.emplace_back();
    added.host = host;
    added.make_transport = [this, node, host] {
      return make_transport(node, host);
    };
    return node;
  };
  const auto self =
      std::find_if(discovery_.hosts.begin(), discovery_.hosts.end(),
                   [](const JobHost& host) { return host.is_self; });
  const bool self_has_ranks = self != discovery_.hosts.end();
  add(self_has_ranks ? self->entry.name : discovery_.hostname);
  nodes[0].worker = self_has_ranks;
  for (auto host = discovery_.hosts.begin(); host != discovery_.hosts.end();
       ++host) {
    node_of_host_.push_back(host == self ? uint16_t{0} : add(host->entry.name));
  }
  ports_.assign(nodes.size(), PortChoice(discovery_.contract.ssh_port,
                                         discovery_.contract.try_port_22));
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

std::unique_ptr<Transport> JobChannel::make_transport(uint16_t node,
                                                      const std::string& host) {
  if (node == 0 || options_.local) {
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, ProcessTransport::Child::kAgent,
        std::vector<std::string>{agent_, "agent"}, current_environment());
  }
  if (!options_.exec_transport.empty()) {
    std::vector<std::string> argv = options_.exec_transport;
    for (std::string& word : argv) name_host(host, word);
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, ProcessTransport::Child::kCarrier,
        std::move(argv), current_environment());
  }
  SshTransportOptions ssh;
  ssh.host = host;
  ssh.port = [&choice = ports_[node]] { return choice.next(Clock::now()); };
  ssh.user = discovery_.ssh_user;
  ssh.keys = &*discovery_.keys;
  return std::make_unique<SshTransport>(loop_, resolver_, std::move(ssh));
}

}  // namespace muster
