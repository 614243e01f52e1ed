// SPDX-License-Identifier: Apache-2.0
// NcclSpread: compares the NCCL that the first rank of each pod has loaded with
// the one found for the command before the start, and with the other pods'.
// Reports each difference once: between a pod and its plan at once, between
// pods when all have answered or some seconds after the first. Pure.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/finding.h"

namespace muster {

struct PodNccl {
  std::string host;
  int rank = -1;
  std::string version;
  std::string path;
  std::string planned;  // the NCCL of the settings; "": unknown
};

class NcclSpread {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A pod's answer in a heartbeat; again and again, also from the launcher's
  // last incarnation. `expected`: pods with ranks.
  std::vector<Finding> add(PodNccl pod, size_t expected, Time now);
  // The last answer has come.
  std::vector<Finding> finish();

 private:
  std::map<std::string, PodNccl> pods_;  // by host
  Time first_;
  bool told_spread_ = false;
  std::set<std::string> told_plans_;  // both versions
};

}  // namespace muster
