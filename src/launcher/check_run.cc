// SPDX-License-Identifier: Apache-2.0
#include "launcher/check_run.h"

#include <set>

#include "base/log.h"
#include "fabric/facts_json.h"

namespace muster {

namespace {

constexpr Milliseconds kHello{20'000};
constexpr Milliseconds kResolve{20'000};
constexpr Milliseconds kExtra{5'000};  // on top of a test's own limit
constexpr size_t kMostSecondLooks = 128;
constexpr int kManyStalls = 3;

std::string place(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace

CheckRun::CheckRun(Loop& loop, FabricOptions fabric, LaunchOptions options,
                   Discovery discovery)
    : fabric_(std::move(fabric)),
      peers_(loop, std::move(options), std::move(discovery)) {
  result_.bench = fabric_.command == "bench";
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
    order.order = "hello";
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
  peers_.ask(orders, kHello, [this](PeerFleet::Answers answers) {
    greeted(std::move(answers));
  });
}

void CheckRun::greeted(PeerFleet::Answers answers) {
  for (auto& [node, answer] : answers) {
    CheckedPod& pod = result_.pods[node];
    ports_[node] = answer.port;
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
  }
  resolve();
}

void CheckRun::resolve() {
  std::map<uint16_t, PeerOrder> orders;
  PeerOrder order;
  order.order = "resolve";
  for (const CheckedPod& pod : result_.pods) {
    // The launcher pod has no name that workers must know, and a name that we
    // did not find either has its own finding.
    if (!pod.launcher && !pod.missing_code.starts_with("dns")) {
      order.names.push_back(pod.name);
    }
  }
  for (size_t i = 0; i < result_.pods.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    if (peers_.alive(node)) orders[node] = order;
  }
  if (!peers_.by_name()) orders.clear();
  peers_.ask(orders, kResolve, [this](const PeerFleet::Answers& answers) {
    for (const auto& [node, answer] : answers) {
      result_.pods[node].unresolved = answer.unresolved;
    }
    rounds_ =
        tournament(result_.pods.size(), static_cast<size_t>(fabric_.rounds));
    next_round();
  });
}

bool CheckRun::stalls_often(size_t pod) const {
  return stalls_[pod] >= kManyStalls;
}

PeerOrder CheckRun::order_for(size_t driver, size_t peer) const {
  PeerOrder order;
  order.order = "drive";
  order.peer = place(result_.pods[peer].address, ports_[peer]);
  order.bulk = !second_looks_ && !stalls_often(driver) && !stalls_often(peer);
  order.megabytes = result_.bench ? fabric_.megabytes : 1;
  order.timeout_ms = fabric_.timeout_ms;
  order.rdma = !second_looks_;
  order.measure_rdma = result_.bench;
  return order;
}

void CheckRun::next_round() {
  if (round_ == rounds_.size() && !second_looks_) plan_second_looks();
  if (round_ == rounds_.size()) {
    peers_.leave(done_);
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
    result_.pairs.push_back({driver, peer, std::move(answer)});
  }
  next_round();
}

// A connection that did not open: does the other direction?
void CheckRun::plan_second_looks() {
  second_looks_ = true;
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

}  // namespace muster
