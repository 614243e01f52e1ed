// SPDX-License-Identifier: Apache-2.0
// Connections that do not open, in one or both directions, and ways on which
// full-sized packets vanish.
#include <map>
#include <set>

#include "fabric/prove/judge_parts.h"

namespace muster {

namespace {

enum class State { kUnknown, kOpen, kShut };
using States = std::map<std::pair<size_t, size_t>, State>;

States states_of(const JobCheck& check) {
  States out;
  for (const TestedPair& pair : check.pairs) {
    const std::string& code = pair.answer.code;
    State& there = out[{pair.driver, pair.peer}];
    State& back = out[{pair.peer, pair.driver}];
    if (code == "connect") {
      there = State::kShut;
    } else if (code == "connect_back") {
      there = State::kOpen;
      back = State::kShut;
    } else if (code.empty() || code == "bulk_stalls") {
      there = back = State::kOpen;
    }
  }
  return out;
}

std::string several(size_t bad, size_t tested) {
  return std::to_string(bad) + " of " + std::to_string(tested);
}

void shut_pods(const JobCheck& check, const BlamedWays& blamed, bool incoming,
               Findings& out) {
  for (size_t i = 0; i < blamed.pods.size(); ++i) {
    const CheckedPod& pod = check.pods[blamed.pods[i]];
    const std::string others =
        several(blamed.bad_of[i], blamed.tested_of[i]) + " other pods";
    out.push_back(
        {Severity::kError, "connect",
         incoming ? pod.name + " cannot be connected to"
                  : pod.name + " cannot connect to the others",
         (incoming ? "from " : "to ") + others,
         "allow the pods of the job to reach each other on every TCP port: "
         "NetworkPolicy, security group or firewall of its node"});
  }
}

void judge_stalls(const JobCheck& check, Findings& out) {
  std::vector<Way> tested;
  std::vector<Way> bad;
  for (const TestedPair& pair : check.pairs) {
    const std::string& code = pair.answer.code;
    const bool measured = pair.answer.result.to_gbps >= 0;
    if (code == "bulk_stalls") bad.push_back({pair.driver, pair.peer});
    if (code == "bulk_stalls" || (code.empty() && measured)) {
      tested.push_back({pair.driver, pair.peer});
    }
  }
  const std::string remedy =
      "make the MTU of its interface and of the network below (overlay, "
      "bridge, switch) equal";
  const BlamedWays blamed = blame(tested, bad, BlameSide::kBoth);
  for (size_t i = 0; i < blamed.pods.size(); ++i) {
    out.push_back({Severity::kError, "bulk_stalls",
                   check.pods[blamed.pods[i]].name +
                       ": small messages pass and full-sized packets are "
                       "lost (MTU)",
                   "with " + several(blamed.bad_of[i], blamed.tested_of[i]) +
                       " other pods",
                   remedy});
  }
  for (const Way& way : blamed.ways) {
    out.push_back({Severity::kError, "bulk_stalls",
                   "between " + check.pods[way.from].name + " and " +
                       check.pods[way.to].name +
                       " full-sized packets are lost (MTU)",
                   "small messages pass", remedy});
  }
}

void judge_lost(const JobCheck& check, Findings& out) {
  static const std::set<std::string> kKnown = {"", "connect", "connect_back",
                                               "bulk_stalls"};
  for (const TestedPair& pair : check.pairs) {
    if (kKnown.count(pair.answer.code) != 0) continue;
    out.push_back({Severity::kError,
                   pair.answer.code == "limits" ? "limits" : "peer_lost",
                   "the test from " + check.pods[pair.driver].name + " to " +
                       check.pods[pair.peer].name + " did not end well",
                   pair.answer.text, "look at both pods: `muster doctor`"});
  }
}

}  // namespace

void judge_ways(const JobCheck& check, Findings& out) {
  const States states = states_of(check);
  std::vector<Way> tested;
  std::vector<Way> shut;
  for (const auto& [way, state] : states) {
    if (state == State::kUnknown) continue;
    tested.push_back({way.first, way.second});
    if (state == State::kShut) shut.push_back({way.first, way.second});
  }
  const BlamedWays into = blame(tested, shut, BlameSide::kTo);
  shut_pods(check, into, true, out);
  const BlamedWays from = blame(tested, into.ways, BlameSide::kFrom);
  shut_pods(check, from, false, out);
  for (const Way& way : from.ways) {
    const auto back = states.find({way.to, way.from});
    const bool one_way = back != states.end() && back->second == State::kOpen;
    out.push_back({Severity::kError, one_way ? "connect_back" : "connect",
                   check.pods[way.from].name + " cannot connect to " +
                       check.pods[way.to].name,
                   one_way ? "the other direction works"
                           : "nor is the other direction known to work",
                   "a NetworkPolicy or firewall drops it: allow the pods of "
                   "the job to reach each other in both directions"});
  }
  judge_stalls(check, out);
  judge_lost(check, out);
}

}  // namespace muster
