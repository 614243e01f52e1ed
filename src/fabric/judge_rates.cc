// SPDX-License-Identifier: Apache-2.0
// Bandwidth over TCP: pods, then single pairs, that are far below the median
// of all. A check moves one megabyte and names only what is below a quarter;
// a bench moves more and names what is below a half.
#include <map>

#include "fabric/judge_parts.h"

namespace muster {

namespace {

struct Rate {
  Way way;
  double gbps = 0;
};

std::vector<Rate> rates_of(const JobCheck& check) {
  std::vector<Rate> out;
  for (const TestedPair& pair : check.pairs) {
    const PairResult& result = pair.answer.result;
    const bool compared =
        !check.pods[pair.driver].launcher && !check.pods[pair.peer].launcher;
    if (!pair.answer.code.empty() || !compared || result.to_gbps < 0) continue;
    out.push_back({{pair.driver, pair.peer}, result.to_gbps});
    out.push_back({{pair.peer, pair.driver}, result.from_gbps});
  }
  return out;
}

std::map<size_t, double> medians(const std::vector<Rate>& rates, bool sending) {
  std::map<size_t, std::vector<double>> lists;
  for (const Rate& rate : rates) {
    lists[sending ? rate.way.from : rate.way.to].push_back(rate.gbps);
  }
  std::map<size_t, double> out;
  for (auto& [pod, list] : lists) {
    if (list.size() >= 2) out[pod] = median_of(list);
  }
  return out;
}

std::string compared(double rate, double usual) {
  return decimal(rate) + " Gb/s, the median is " + decimal(usual);
}

}  // namespace

void judge_rates(const JobCheck& check, Findings& out) {
  std::vector<Rate> rates = rates_of(check);
  std::vector<double> all;
  for (const Rate& rate : rates) all.push_back(rate.gbps);
  if (all.size() < 6) return;  // three pods: no majority to compare with
  const double usual = median_of(all);
  const double part = check.bench ? 0.5 : 0.25;
  const std::string remedy =
      "look at its node: link speed, duplex, a bandwidth annotation "
      "(kubernetes.io/egress-bandwidth), other traffic";
  for (const bool sending : {true, false}) {
    for (const auto& [pod, rate] : medians(rates, sending)) {
      if (rate >= part * usual) continue;
      out.push_back({Severity::kWarning, "slow",
                     check.pods[pod].name +
                         (sending ? " sends slowly" : " receives slowly"),
                     compared(rate, usual), remedy});
      std::erase_if(rates, [&, slow = pod](const Rate& one) {
        return (sending ? one.way.from : one.way.to) == slow;
      });
    }
  }
  for (const Rate& rate : rates) {
    // One pair alone is noisier than the median of a pod's pairs.
    if (rate.gbps >= part * usual / 2) continue;
    out.push_back({Severity::kWarning, "slow",
                   "the way from " + check.pods[rate.way.from].name + " to " +
                       check.pods[rate.way.to].name + " is slow",
                   compared(rate.gbps, usual),
                   "measure that pair alone: muster fabric bench --peer"});
  }
}

}  // namespace muster
