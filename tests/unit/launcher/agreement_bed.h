// SPDX-License-Identifier: Apache-2.0
// Inputs for agree(): a launcher pod and workers as a discovery and the agents
// would describe them.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/agreement.h"

namespace muster::test {

struct AgreementBed {
  LaunchOptions options;
  Discovery discovery;
  AgreementInput input;

  // Node 0 is the launcher; the hosts of `hostfile` are nodes 1 to N.
  explicit AgreementBed(const std::string& hostfile =
                            "w-0 slots=2\n"
                            "w-1 slots=2\n") {
    options.command = {"./app"};
    discovery.hostname = "l";
    discovery.env = {{"PATH", "/usr/bin"}, {"HOME", "/root"}};
    input.agent = "/opt/muster/muster-agent";
    input.run_directory = "/run/m";
    add_node("l");
    use_hostfile(hostfile);
  }
  AgreementBed(const AgreementBed&) = delete;
  AgreementBed& operator=(const AgreementBed&) = delete;

  void add_node(const std::string& host) {
    NodeSpec node;
    node.host = host;
    node.facts.hostname = host;
    node.facts.muster_version = "0.1.0";
    node.facts.cpus_allowed = 64;
    node.facts.environment = {{"PATH", "/usr/bin"}, {"HOME", "/root"}};
    input.nodes.push_back(std::move(node));
  }
  void use_hostfile(const std::string& text) {
    discovery.hosts.clear();
    input.nodes.resize(1);
    input.node_of_host.clear();
    discovery.hosts_source = "/etc/mpi/hostfile";
    const auto parsed = parse_hostfile(text, discovery.hosts_source).value();
    for (const HostEntry& entry : parsed.hosts) {
      const bool self = entry.name == "l";
      discovery.hosts.push_back({entry, self});
      if (!self) add_node(entry.name);
      input.node_of_host.push_back(
          self ? uint16_t{0} : static_cast<uint16_t>(input.nodes.size() - 1));
    }
  }
  void use_line(const std::vector<std::string>& words) {
    discovery.line = parse_mpirun_line(words).value();
    options.command = words;
    options.is_line = true;
  }
  void use_mpi(const std::string& family, const std::string& version) {
    discovery.mpirun = "/usr/bin/mpirun";
    for (NodeSpec& node : input.nodes) {
      node.facts.mpi = {family, version, discovery.mpirun};
    }
  }
  Result<Agreement> agree() {
    input.options = &options;
    input.discovery = &discovery;
    return muster::agree(input);
  }
};

}  // namespace muster::test
