// SPDX-License-Identifier: Apache-2.0
// Judges a job-wide check or bench: turns every pod's and every pair's result
// into findings that name the pod, pair or rail at fault, once each. A fault of
// one pod shows in all its pairs; the judge blames the pod if at least half of
// its tests (and two) show it. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabric/collect/counters.h"
#include "fabric/facts/facts.h"
#include "fabric/policy/policy.h"
#include "fabric/prove/peer_protocol.h"
#include "job/finding.h"

namespace muster {

struct CheckedPod {
  std::string name;
  std::string address;       // the others reach it by this address
  bool launcher = false;     // runs no ranks: its rates do not count
  std::string missing_code;  // it never answered; the rest is empty then
  std::string missing_text;
  PodFabric facts;
  std::vector<std::string> unresolved;
  std::vector<GrownCounter> grown;  // while a bench ran
};

struct TestedPair {
  size_t driver = 0;
  size_t peer = 0;
  bool alone = false;  // the only test at its time
  PeerAnswer answer;
};

struct JobCheck {
  bool bench = false;
  FabricRequest request;  // the job's start command
  std::vector<CheckedPod> pods;
  std::vector<TestedPair> pairs;  // a pair may occur in both directions
};

struct JobCheckReport {
  std::vector<Finding> findings;  // the worst first
  int exit_class = 0;
};

// Pairs that were slow while others were tested too: worth a second test,
// alone. At most `most`.
std::vector<std::pair<size_t, size_t>> slow_suspects(const JobCheck& check,
                                                     size_t most);

JobCheckReport judge_check(const JobCheck& check);

std::string check_to_text(const JobCheck& check, const JobCheckReport& report,
                          double seconds);
std::string check_to_json(const JobCheck& check, const JobCheckReport& report,
                          double seconds);

}  // namespace muster
