// SPDX-License-Identifier: Apache-2.0
// The parts of judge_check(), one file each. Internal.
#pragma once

#include <string>
#include <vector>

#include "fabric/prove/job_check_report.h"

namespace muster {

using Findings = std::vector<Finding>;

// Names, limits, MTU of the interfaces, agreement of the pods.
void judge_pods(const JobCheck& check, Findings& out);
// Connections and large packets.
void judge_ways(const JobCheck& check, Findings& out);
void judge_rates(const JobCheck& check, Findings& out);
void judge_counters(const JobCheck& check, Findings& out);
void judge_rails(const JobCheck& check, Findings& out);

// One way from a pod to another, by position in JobCheck::pods.
struct Way {
  size_t from = 0;
  size_t to = 0;
};
// The pods that explain most of `bad`, and the ways that remain.
struct BlamedWays {
  std::vector<size_t> pods;
  std::vector<size_t> bad_of;     // by entry of `pods`: ways that failed
  std::vector<size_t> tested_of;  // … and that were tried
  std::vector<Way> ways;
};
enum class BlameSide { kFrom, kTo, kBoth };
BlamedWays blame(const std::vector<Way>& tested, std::vector<Way> bad,
                 BlameSide side);

double median_of(std::vector<double> values);  // -1 if there are none
std::string decimal(double value);             // "12.3", "0.05"

}  // namespace muster
