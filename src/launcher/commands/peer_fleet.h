// SPDX-License-Identifier: Apache-2.0
// PeerFleet: a `muster fabric peer` in every pod of the job, asked and
// answered through the agents, so that a broken network between the pods does
// not stand in the way of finding out. Pods that cannot be reached are left
// out and told apart. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/reaper.h"
#include "fabric/prove/peer_protocol.h"
#include "launcher/connect/job_channel.h"

namespace muster {

class PeerFleet {
 public:
  using Answers = std::map<uint16_t, PeerAnswer>;

  PeerFleet(Loop& loop, LaunchOptions options, Discovery discovery);
  ~PeerFleet();

  // `ready` once, with who is missing; the helpers run in all others.
  Status start(std::function<void(std::vector<Laggard>)> ready);
  // One order to some nodes, one answer each; who does not answer by the
  // deadline has the code "peer_lost".
  void ask(const std::map<uint16_t, PeerOrder>& orders, Milliseconds deadline,
           std::function<void(Answers)> done);
  void leave(std::function<void()> left);

  [[nodiscard]] size_t size() const { return fleet_->size(); }
  [[nodiscard]] bool alive(uint16_t node) const {
    return fleet_->alive(node) && gone_.count(node) == 0;
  }
  [[nodiscard]] const std::string& host(uint16_t node) const {
    return fleet_->dialer(node).host();
  }
  // Under which the other pods reach it; its name where nothing is known.
  [[nodiscard]] std::string address(uint16_t node) const;
  // The job's hosts are names that every pod must find.
  [[nodiscard]] bool by_name() const {
    return !options_.local && options_.exec_transport.empty();
  }
  // This pod is only the launcher: no ranks run here.
  [[nodiscard]] bool only_launcher(uint16_t node) const;

 private:
  void start_helpers();
  void listen();
  void output(uint16_t node, const wire::Frame& frame);
  void line(uint16_t node, const std::string& text);
  void lost(uint16_t node, const std::string& why);
  void consider_done();

  Loop& loop_;
  LaunchOptions options_;
  Discovery discovery_;
  Reaper reaper_;
  std::unique_ptr<JobChannel> channel_;
  std::unique_ptr<Fleet> fleet_;
  std::map<uint16_t, std::string> partial_;  // a line that has not ended
  std::map<uint16_t, std::string> gone_;     // helpers that ended, and why
  std::map<uint16_t, std::string> stderr_;
  std::set<uint16_t> asked_;
  Answers answers_;
  std::function<void(Answers)> done_;
  Timer timer_;
};

}  // namespace muster
