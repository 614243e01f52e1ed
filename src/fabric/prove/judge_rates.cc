// SPDX-License-Identifier: Apache-2.0
// Bandwidth over TCP: pods, then single pairs, that are far below the median
// of all. A check moves one megabyte and names only what is below a quarter;
// a bench moves more and names what is below a half.
#include <map>
#include <set>

#include "fabric/prove/judge_parts.h"

namespace muster {

namespace {

struct Rate {
  Way way;
  double gbps = 0;
  bool alone = false;
};

// Of each way the test that was alone, where there is one.
std::vector<Rate> rates_of(const JobCheck& check) {
  std::map<std::pair<size_t, size_t>, Rate> best;
  const auto add = [&](size_t from, size_t to, double gbps, bool alone) {
    Rate& rate = best[{from, to}];
    if (rate.alone && !alone) return;
    rate = {{from, to}, gbps, alone};
  };
  for (const TestedPair& pair : check.pairs) {
    const PairResult& result = pair.answer.result;
    const bool compared =
        !check.pods[pair.driver].launcher && !check.pods[pair.peer].launcher;
    if (!pair.answer.code.empty() || !compared || result.to_gbps < 0) continue;
    add(pair.driver, pair.peer, result.to_gbps, pair.alone);
    add(pair.peer, pair.driver, result.from_gbps, pair.alone);
  }
  // A pair measured alone stands for all of that pod's ways: the others were
  // slow, if so, because of the test's own load.
  std::set<size_t> senders;
  std::set<size_t> receivers;
  for (const auto& [way, rate] : best) {
    if (rate.alone) senders.insert(way.first);
    if (rate.alone) receivers.insert(way.second);
  }
  std::vector<Rate> out;
  for (const auto& [way, rate] : best) {
    const bool outdated =
        senders.count(way.first) != 0 || receivers.count(way.second) != 0;
    if (rate.alone || !outdated) out.push_back(rate);
  }
  return out;
}

// By pod, of the tests that were alone where there are any.
std::map<size_t, double> medians(const std::vector<Rate>& rates, bool sending) {
  std::map<size_t, std::vector<double>> shared;
  std::map<size_t, std::vector<double>> alone;
  for (const Rate& rate : rates) {
    const size_t pod = sending ? rate.way.from : rate.way.to;
    (rate.alone ? alone : shared)[pod].push_back(rate.gbps);
  }
  std::map<size_t, double> out;
  for (auto& [pod, list] : shared) {
    if (list.size() >= 2) out[pod] = median_of(list);
  }
  for (auto& [pod, list] : alone) out[pod] = median_of(list);
  return out;
}

struct SlowWays {
  double usual = -1;
  // Pods that send (first) or receive slowly, and single ways, with rates.
  std::map<size_t, double> senders;
  std::map<size_t, double> receivers;
  std::vector<Rate> ways;
};

SlowWays slow_ways(const JobCheck& check) {
  SlowWays out;
  std::vector<Rate> rates = rates_of(check);
  std::vector<double> all;
  for (const Rate& rate : rates) all.push_back(rate.gbps);
  if (all.size() < 6) return out;  // three pods: no majority to compare with
  out.usual = median_of(all);
  const double limit = out.usual * (check.bench ? 0.5 : 0.25);
  for (const bool sending : {true, false}) {
    for (const auto& [pod, rate] : medians(rates, sending)) {
      if (rate >= limit) continue;
      (sending ? out.senders : out.receivers)[pod] = rate;
      std::erase_if(rates, [sending, slow = pod](const Rate& one) {
        return (sending ? one.way.from : one.way.to) == slow;
      });
    }
  }
  for (const Rate& rate : rates) {
    // One pair is noisier than the median of a pod's pairs.
    if (rate.gbps < limit / 2) out.ways.push_back(rate);
  }
  return out;
}

std::string compared(double rate, double usual) {
  return decimal(rate) + " Gb/s, the median is " + decimal(usual);
}

}  // namespace

std::vector<std::pair<size_t, size_t>> slow_suspects(const JobCheck& check,
                                                     size_t most) {
  constexpr size_t kOfOnePod = 3;
  const SlowWays slow = slow_ways(check);
  std::vector<std::pair<size_t, size_t>> out;
  std::map<size_t, size_t> taken;
  for (const Rate& rate : rates_of(check)) {
    const auto& [from, to] = rate.way;
    const size_t bad = slow.senders.count(from) != 0 ? from : to;
    const bool suspect =
        slow.senders.count(from) != 0 || slow.receivers.count(to) != 0;
    if (!suspect || taken[bad] >= kOfOnePod || out.size() >= most) continue;
    ++taken[bad];
    out.emplace_back(from, to);
  }
  for (const Rate& rate : slow.ways) {
    if (out.size() < most) out.emplace_back(rate.way.from, rate.way.to);
  }
  return out;
}

void judge_rates(const JobCheck& check, Findings& out) {
  const SlowWays slow = slow_ways(check);
  const std::string remedy =
      "look at its node: link speed, duplex, a bandwidth annotation "
      "(kubernetes.io/egress-bandwidth), other traffic";
  for (const auto& [pod, rate] : slow.senders) {
    out.push_back({Severity::kWarning, "slow",
                   check.pods[pod].name + " sends slowly",
                   compared(rate, slow.usual), remedy});
  }
  for (const auto& [pod, rate] : slow.receivers) {
    out.push_back({Severity::kWarning, "slow",
                   check.pods[pod].name + " receives slowly",
                   compared(rate, slow.usual), remedy});
  }
  for (const Rate& rate : slow.ways) {
    out.push_back(
        {Severity::kWarning, "slow",
         "the way from " + check.pods[rate.way.from].name + " to " +
             check.pods[rate.way.to].name + " is slow",
         compared(rate.gbps, slow.usual),
         "measure that pair alone: `muster fabric bench --peer HOST:PORT`"});
  }
}

}  // namespace muster
