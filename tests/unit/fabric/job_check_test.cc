// SPDX-License-Identifier: Apache-2.0
// What a job-wide check concludes from its measurements, and the schedule.
#include <set>

#include "catch.h"
#include "fabric/prove/job_check_page.h"
#include "fabric/prove/tournament.h"

using namespace muster;

namespace {

JobCheck job_of(size_t pods, bool bench = false) {
  JobCheck out;
  out.bench = bench;
  for (size_t i = 0; i < pods; ++i) {
    CheckedPod pod;
    pod.name = "w-" + std::to_string(i);
    pod.facts.name = pod.name;
    out.pods.push_back(pod);
  }
  for (const TestRound& round : tournament(pods, 1000)) {
    for (const auto& [driver, peer] : round) {
      TestedPair pair{driver, peer, false, {}};
      pair.answer.result.to_gbps = pair.answer.result.from_gbps = 10;
      pair.answer.result.latency_us = 50;
      out.pairs.push_back(pair);
    }
  }
  return out;
}

std::vector<std::string> texts(const JobCheck& check, const std::string& code) {
  std::vector<std::string> out;
  const JobCheckReport report = judge_check(check);
  for (const Finding& finding : report.findings) {
    if (finding.code == code) out.push_back(finding.text);
  }
  return out;
}

TestedPair& between(JobCheck& check, size_t a, size_t b) {
  for (TestedPair& pair : check.pairs) {
    if ((pair.driver == a && pair.peer == b) ||
        (pair.driver == b && pair.peer == a)) {
      return pair;
    }
  }
  FAIL("no such pair");
  return check.pairs.front();
}

}  // namespace

TEST_CASE("a tournament covers every pair once, nobody twice in a round") {
  for (size_t pods = 2; pods <= 17; ++pods) {
    std::set<std::pair<size_t, size_t>> seen;
    const auto rounds = tournament(pods, 1000);
    CHECK(rounds.size() == pods + pods % 2 - 1);
    for (const TestRound& round : rounds) {
      std::set<size_t> busy;
      for (const auto& [a, b] : round) {
        CHECK(busy.insert(a).second);
        CHECK(busy.insert(b).second);
        CHECK(seen.insert({std::min(a, b), std::max(a, b)}).second);
      }
    }
    CHECK(seen.size() == pods * (pods - 1) / 2);
  }
  CHECK(tournament(1, 5).empty());
  CHECK(tournament(100, 7).size() == 7);
}

TEST_CASE("a well job has nothing to say") {
  const JobCheck check = job_of(8);
  CHECK(judge_check(check).exit_class == 0);
}

TEST_CASE("one direction that is shut is told from both") {
  JobCheck check = job_of(6);
  between(check, 1, 2) = {2, 1, false, {}};
  between(check, 1, 2).answer.code = "connect_back";
  CHECK(texts(check, "connect_back") ==
        std::vector<std::string>{"w-1 cannot connect to w-2"});
  CHECK(judge_check(check).exit_class == 32);
  JobCheck other = job_of(6);
  between(other, 1, 2) = {1, 2, false, {}};
  between(other, 1, 2).answer.code = "connect";
  TestedPair again{2, 1, false, {}};
  again.answer.code = "connect_back";
  other.pairs.push_back(again);
  CHECK(texts(other, "connect_back") ==
        std::vector<std::string>{"w-1 cannot connect to w-2"});
  other.pairs.back().answer.code = "connect";
  CHECK(texts(other, "connect_back").empty());
  CHECK(texts(other, "connect").size() == 2);
}

TEST_CASE("a pod that nobody reaches is named once") {
  JobCheck check = job_of(8);
  for (size_t i = 0; i < 8; ++i) {
    if (i == 3) continue;
    TestedPair& pair = between(check, i, 3);
    pair = {i, 3, false, {}};
    pair.answer.code = "connect";
  }
  CHECK(texts(check, "connect") ==
        std::vector<std::string>{"w-3 cannot be connected to"});
}

TEST_CASE("lost packets are blamed on the pod that all have in common") {
  JobCheck check = job_of(8);
  for (const size_t i : {0, 1, 2, 4}) {
    TestedPair& pair = between(check, i, 5);
    pair.answer.code = "bulk_stalls";
  }
  // In later rounds it was left out of bulk tests.
  for (const size_t i : {3, 6, 7}) {
    between(check, i, 5).answer.result.to_gbps = -1;
  }
  const auto found = texts(check, "bulk_stalls");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("w-5: "));
}

TEST_CASE("slow senders, receivers and single ways are told apart") {
  JobCheck check = job_of(8, true);
  const auto slow_from = [&](size_t from, size_t to) {
    TestedPair& pair = between(check, from, to);
    (pair.driver == from ? pair.answer.result.to_gbps
                         : pair.answer.result.from_gbps) = 1;
  };
  for (size_t i = 0; i < 8; ++i) {
    if (i != 2) slow_from(2, i);
    if (i != 6) slow_from(i, 6);
  }
  slow_from(0, 1);
  CHECK(texts(check, "slow") ==
        std::vector<std::string>{"w-2 sends slowly", "w-6 receives slowly",
                                 "the way from w-0 to w-1 is slow"});
  CHECK(judge_check(check).exit_class == 37);
  const auto suspects = slow_suspects(check, 12);
  CHECK(suspects.size() == 7);
  // Alone they are as quick as the others: it was the load of the test.
  for (const auto& [from, to] : suspects) {
    TestedPair pair{from, to, true, {}};
    pair.answer.result.to_gbps = pair.answer.result.from_gbps = 10;
    check.pairs.push_back(pair);
  }
  CHECK(texts(check, "slow").empty());
}

TEST_CASE("a pod with less locked memory than the others") {
  JobCheck check = job_of(4);
  for (CheckedPod& pod : check.pods) pod.facts.memlock_bytes = 8 << 20;
  CHECK(texts(check, "limits").empty());
  check.pods[3].facts.memlock_bytes = 65536;
  const auto found = texts(check, "limits");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("w-3 may lock only 64"));
}

TEST_CASE("a name that is missing, for all or for some") {
  JobCheck check = job_of(4);
  check.pods[1].missing_code = "dns_unresolved";
  CHECK(texts(check, "name_missing") ==
        std::vector<std::string>{"the name w-1 is not in DNS"});
  check.pods[1].missing_code = "";
  check.pods[2].unresolved = {"w-0"};
  CHECK(texts(check, "name_missing") ==
        std::vector<std::string>{"1 of 4 pods do not find the name w-0"});
  CHECK(judge_check(check).exit_class == 36);
}

TEST_CASE("a dead rail is blamed on its pod") {
  JobCheck check = job_of(5);
  for (TestedPair& pair : check.pairs) {
    for (const char* name : {"mlx5_0", "mlx5_1"}) {
      RailResult rail;
      rail.rail = rail.peer_rail = name;
      const bool dead =
          rail.rail == "mlx5_1" && (pair.driver == 4 || pair.peer == 4);
      if (dead) rail.code = "rdma_unreachable";
      pair.answer.result.rails.push_back(rail);
    }
  }
  CHECK(texts(check, "rdma_unreachable") ==
        std::vector<std::string>{"rail mlx5_1 of w-4 does not work"});
  CHECK(judge_check(check).exit_class == 38);
}

TEST_CASE("orders and answers survive the way") {
  PeerOrder order;
  order.order = "drive";
  order.peer = "[fd00::1]:7";
  order.measure_rdma = true;
  const auto same = peer_order_from_json(to_json(order));
  REQUIRE(same);
  CHECK(same->peer == order.peer);
  CHECK(same->measure_rdma);
  PeerAnswer answer;
  answer.unresolved = {"a", "b"};
  answer.result.rails.push_back({"a", "b", true, "rdma_gid", "t", 1, 2, 3, 4});
  const auto back = peer_answer_from_json(to_json(answer));
  REQUIRE(back);
  CHECK(back->unresolved == answer.unresolved);
  REQUIRE(back->result.rails.size() == 1);
  CHECK(back->result.rails[0].code == "rdma_gid");
  CHECK_FALSE(peer_order_from_json("{\"order\": 3}"));
  CHECK_FALSE(peer_answer_from_json("nonsense"));
}

TEST_CASE("the page shows every pair, and the one that failed by name") {
  JobCheck check = job_of(4, true);
  check.pods[3].name = "<w-3>";
  check.pairs[0].answer.result.to_gbps = 1;
  check.pairs[1].answer.code = "connect";
  check.pairs[1].answer.text = "refused & gone";
  const std::string page = check_page(check, judge_check(check), 1.5);
  size_t squares = 0;
  for (size_t at = 0; (at = page.find("<i class=", at)) != std::string::npos;
       ++at) {
    ++squares;
  }
  CHECK(squares == 2 * 16);
  CHECK(page.find("1.00 Gb/s") != std::string::npos);
  CHECK(page.find("refused &amp; gone") != std::string::npos);
  CHECK(page.find("<w-3>") == std::string::npos);
  CHECK(page.find("&lt;w-3&gt;") != std::string::npos);
}

TEST_CASE("a check asks for what the job will be started with") {
  JobCheck check = job_of(3);
  for (CheckedPod& pod : check.pods) pod.facts.hcas.emplace();
  CHECK(judge_check(check).exit_class == 0);
  check.request.profile = Profile::kRdma;
  CHECK(judge_check(check).exit_class == 38);
  check.request.profile = Profile::kTcp;
  CHECK(texts(check, "rdma_no_hca").empty());
}
