// SPDX-License-Identifier: Apache-2.0
// The way to the agents of a job, for every command that needs them: its nodes,
// the hello, and the transport to each node. Node 0 is this pod.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/reaper.h"
#include "launcher/connect/discovery.h"
#include "launcher/connect/fleet.h"
#include "launcher/connect/port_choice.h"
#include "launcher/connect/resolver.h"

namespace muster {

class JobChannel {
 public:
  // Borrows all of them; `agent` is the path of our agent.
  JobChannel(Loop& loop, Reaper& reaper, const LaunchOptions& options,
             const Discovery& discovery, std::string launch_id,
             std::string agent);

  [[nodiscard]] wire::Hello hello() const;
  // Each dials by itself.
  [[nodiscard]] std::vector<FleetNode> nodes();
  // By position in Discovery::hosts; filled by nodes().
  [[nodiscard]] const std::vector<uint16_t>& node_of_host() const {
    return node_of_host_;
  }

 private:
  std::unique_ptr<Transport> make_transport(uint16_t node,
                                            const std::string& host);

  Loop& loop_;
  Reaper& reaper_;
  const LaunchOptions& options_;
  const Discovery& discovery_;
  std::string launch_id_;
  std::string agent_;
  Resolver resolver_;
  std::vector<PortChoice> ports_;  // by node
  std::vector<uint16_t> node_of_host_;
};

}  // namespace muster
