// SPDX-License-Identifier: Apache-2.0
// Phases 3 and 5, as questions to all agents at once: their facts, and the pods
// that they can reach (proof). Each has a deadline; a late answer is a Finding.
// Lives on the launcher's loop; borrows the fleet.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "job/finding.h"
#include "job/node_facts.h"
#include "launcher/connect/fleet.h"

namespace muster {

// One request to every node, one answer from each, one deadline.
class Survey {
 public:
  using Answers = std::map<uint16_t, std::string>;  // payloads

  Survey(Loop& loop, Fleet& fleet) : fleet_(fleet), timer_(loop) {}

  // `ask` sends to one node; `done` gets the answers, once, perhaps incomplete.
  void start(Milliseconds deadline, const std::function<void(uint16_t)>& ask,
             std::function<void(Answers)> done);
  void answer(uint16_t node, std::string payload);
  // Drops later answers; `done` is not called.
  void cancel();
  [[nodiscard]] bool running() const { return static_cast<bool>(done_); }

 private:
  void consider_done();

  Fleet& fleet_;
  Timer timer_;
  Answers answers_;
  std::set<uint16_t> asked_;
  std::function<void(Answers)> done_;
};

struct Inspected {
  std::vector<NodeFacts> facts;  // by node; default if none came
  std::vector<Finding> findings;
};
Inspected read_facts(const Fleet& fleet, const Survey::Answers& answers);

// The interface of a pod that has `address`; empty if none has.
std::string interface_of(const NodeFacts& facts, const std::string& address);

// Which agent tries to reach which: a ring through the workers, and the
// launcher from every worker. By address, as MPI's own connections go.
struct ReachTest {
  uint16_t from = 0;
  uint16_t to = 0;
  std::string address;
  int port = 0;
};
std::vector<ReachTest> plan_reach_tests(
    const Fleet& fleet, const std::map<uint16_t, int>& listen_ports);

// Findings of kind "unreachable"; kError where connections time out or are
// refused.
std::vector<Finding> read_reach(const Fleet& fleet,
                                const std::vector<ReachTest>& tests,
                                const Survey::Answers& answers);

}  // namespace muster
