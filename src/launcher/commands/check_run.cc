// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/check_run.h"

#include <set>

#include "base/log.h"
#include "fabric/facts/facts_json.h"

namespace muster {

namespace {

constexpr Milliseconds kListen{10'000};
constexpr Milliseconds kLook{15'000};
constexpr Milliseconds kExtra{5'000};  // on top of a test's own limit
constexpr size_t kMostSecondLooks = 128;
constexpr size_t kMostSlow = 12;
constexpr int kManyStalls = 3;

std::string place(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace

CheckRun::CheckRun(Loop& loop, FabricOptions fabric, LaunchOptions options,
                   FabricRequest request, Discovery discovery)
    : fabric_(std::move(fabric)),
      peers_(loop, std::move(options), std::move(discovery)) {
  result_.bench = fabric_.command == "bench";
  result_.request = std::move(request);
}

Status CheckRun::start(std::function<void()> done) {
  done_ = std::move(done);
  return peers_.start(
      [this](const std::vector<Laggard>& missing) { greet(missing); });
}

void CheckRun::greet(const std::vector<Laggard>& missing) {
  std::map<uint16_t, PeerOrder> orders;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    CheckedPod pod;
    pod.name = peers_.host(node);
    pod.address = peers_.address(node);
    pod.launcher = peers_.only_launcher(node);
    result_.pods.push_back(std::move(pod));
    PeerOrder order;
    order.order = "listen";
    order.port = fabric_.port;
    if (peers_.alive(node)) orders[node] = std::move(order);
  }
  for (const Laggard& laggard : missing) {
    CheckedPod& pod = result_.pods[laggard.node];
    pod.missing_code = laggard.error.code;
    pod.missing_text = laggard.error.text();
  }
  ports_.resize(peers_.size());
  stalls_.resize(peers_.size());
  peers_.ask(orders, kListen,
             [this](const PeerFleet::Answers& answers) { greeted(answers); });
}

void CheckRun::greeted(const PeerFleet::Answers& answers) {
  for (const auto& [node, answer] : answers) {
    ports_[node] = answer.port;
    if (answer.code.empty()) continue;
    result_.pods[node].missing_code = answer.code;
    result_.pods[node].missing_text = answer.text;
  }
  rounds_ =
      tournament(result_.pods.size(), static_cast<size_t>(fabric_.rounds));
  next_round();
}

bool CheckRun::stalls_often(size_t pod) const {
  return stalls_[pod] >= kManyStalls;
}

PeerOrder CheckRun::order_for(size_t driver, size_t peer) const {
  PeerOrder order;
  order.order = "drive";
  order.peer = place(result_.pods[peer].address, ports_[peer]);
  const bool way_only = round_ >= first_second_look_ && round_ < first_alone_;
  order.bulk = !way_only && !stalls_often(driver) && !stalls_often(peer);
  order.megabytes = result_.bench ? fabric_.megabytes : 1;
  order.timeout_ms = fabric_.timeout_ms;
  order.rdma = round_ < first_second_look_;
  order.measure_rdma = result_.bench;
  return order;
}

void CheckRun::next_round() {
  if (round_ == rounds_.size() && first_second_look_ == kNotYet) {
    plan_second_looks();
  }
  if (round_ == rounds_.size() && first_alone_ == kNotYet) plan_slow_again();
  if (round_ == rounds_.size()) {
    look();
    return;
  }
  TestRound round;
  std::map<uint16_t, PeerOrder> orders;
  for (const auto& [driver, peer] : rounds_[round_]) {
    if (!result_.pods[driver].missing_code.empty() ||
        !result_.pods[peer].missing_code.empty()) {
      continue;
    }
    round.emplace_back(driver, peer);
    orders[static_cast<uint16_t>(driver)] = order_for(driver, peer);
  }
  ++round_;
  peers_.ask(orders, Milliseconds{fabric_.timeout_ms} + kExtra,
             [this, round](PeerFleet::Answers answers) {
               round_over(round, std::move(answers));
             });
}

void CheckRun::round_over(const TestRound& round, PeerFleet::Answers answers) {
  for (const auto& [driver, peer] : round) {
    PeerAnswer& answer = answers[static_cast<uint16_t>(driver)];
    if (answer.code == "bulk_stalls") {
      ++stalls_[driver];
      ++stalls_[peer];
    }
    const bool alone = first_alone_ != kNotYet;
    result_.pairs.push_back({driver, peer, alone, std::move(answer)});
  }
  next_round();
}

// A connection that did not open: does the other direction?
void CheckRun::plan_second_looks() {
  first_second_look_ = rounds_.size();
  std::vector<std::pair<size_t, size_t>> again;
  for (const TestedPair& pair : result_.pairs) {
    if (pair.answer.code == "connect" && again.size() < kMostSecondLooks) {
      again.emplace_back(pair.peer, pair.driver);
    }
  }
  while (!again.empty()) {
    TestRound round;
    std::set<size_t> busy;
    std::erase_if(again, [&](const auto& pair) {
      if (busy.count(pair.first) != 0 || busy.count(pair.second) != 0) {
        return false;
      }
      busy.insert({pair.first, pair.second});
      round.push_back(pair);
      return true;
    });
    rounds_.push_back(std::move(round));
  }
}

// Pairs that were slow while others used the network too.
void CheckRun::plan_slow_again() {
  first_alone_ = rounds_.size();
  for (const auto& pair : slow_suspects(result_, kMostSlow)) {
    rounds_.push_back({pair});
  }
}

void CheckRun::look() {
  PeerOrder order;
  order.order = "look";
  for (const CheckedPod& pod : result_.pods) {
    // The launcher pod has no name that workers must know, and a name that we
    // did not find either has its own finding.
    if (peers_.by_name() && !pod.launcher &&
        !pod.missing_code.starts_with("dns")) {
      order.names.push_back(pod.name);
    }
  }
  std::map<uint16_t, PeerOrder> orders;
  for (size_t i = 0; i < result_.pods.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    if (peers_.alive(node) && !stalls_often(i)) orders[node] = order;
  }
  peers_.ask(orders, kLook, [this](const PeerFleet::Answers& answers) {
    looked(answers);
    peers_.leave(done_);
  });
}

void CheckRun::looked(const PeerFleet::Answers& answers) {
  for (const auto& [node, answer] : answers) {
    CheckedPod& pod = result_.pods[node];
    auto facts = read_facts(answer.facts, "facts of " + pod.name);
    if (!answer.code.empty() || !facts) {
      pod.missing_code = answer.code.empty() ? "facts" : answer.code;
      pod.missing_text =
          answer.code.empty() ? facts.error().text() : answer.text;
      continue;
    }
    pod.facts = std::move(facts->pods[0]);
    pod.facts.name = pod.name;
    pod.facts.peer_address = pod.address;
    pod.unresolved = answer.unresolved;
    if (result_.bench) pod.grown = answer.grown;
  }
}

}  // namespace muster
