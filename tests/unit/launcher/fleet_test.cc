// SPDX-License-Identifier: Apache-2.0
// All or nothing over many workers, and how those who are late are told.
#include "launcher/connect/fleet.h"

#include "base/log.h"
#include "catch.h"
#include "fake_fleet.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Behaviour;
using test::FakePeer;
using test::run_for;
using test::run_until;

struct Bed {
  Loop loop;
  std::vector<std::shared_ptr<FakePeer>> peers;
  std::vector<FleetNode> nodes;
  int ready = 0;
  int failed = 0;
  bool permanent = false;
  std::vector<Laggard> laggards;
  std::vector<uint16_t> lost;
  std::vector<uint16_t> told_to_leave;
  std::vector<std::pair<uint16_t, wire::Frame>> frames;
  std::unique_ptr<Fleet> fleet;

  void add(const std::string& host, const Behaviour& behaviour,
           const std::string& job = "") {
    auto peer = std::make_shared<FakePeer>();
    peers.push_back(peer);
    nodes.push_back({host, job, [this, peer, behaviour] {
                       return test::make_fake_transport(loop, peer, behaviour);
                     }});
  }
  void start(Milliseconds deadline = 5s) {
    FleetEvents events;
    events.on_ready = [this] { ++ready; };
    events.on_failed = [this](std::vector<Laggard> missing, bool forever) {
      ++failed;
      permanent = forever;
      laggards = std::move(missing);
    };
    events.on_lost = [this](uint16_t node, const Error&) {
      lost.push_back(node);
    };
    events.on_leaving = [this](uint16_t node) {
      told_to_leave.push_back(node);
    };
    fleet = std::make_unique<Fleet>(loop, test::test_hello(), std::move(nodes),
                                    std::move(events));
    fleet->on(wire::FrameType::kStarted,
              [this](uint16_t node, const wire::Frame& frame) {
                frames.emplace_back(node, frame);
              });
    fleet->start(deadline);
  }
};

TEST_CASE("ready when all are, each under its own name and number") {
  Bed bed;
  for (const char* host : {"l", "w-0", "w-1"}) {
    bed.add(host, test::open_and_answer);
  }
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  CHECK(bed.fleet->size() == 3);
  CHECK(bed.fleet->ready_count() == 3);
  CHECK(bed.fleet->laggards().empty());
  for (size_t i = 0; i < 3; ++i) {
    const auto hello = wire::from_json<wire::Hello>(
        bed.peers[i]->last(wire::FrameType::kHello));
    REQUIRE(hello);
    CHECK(hello->node == static_cast<int>(i));
    CHECK(hello->host == bed.fleet->dialer(static_cast<uint16_t>(i)).host());
  }
}

TEST_CASE("what an agent says of itself is in the log from the start") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::fail_with("dns_unresolved"));
  std::string told;
  log::redirect([&](const std::string& line) { told += line; });
  bed.start();
  run_until(bed.loop, [&] { return bed.fleet->ready_count() == 1; });
  bed.peers[0]->say(wire::FrameType::kLog, 0,
                    wire::to_json(wire::LogLine{"warn", "made room"}));
  run_until(bed.loop, [&] { return !told.empty(); });
  log::redirect({});
  CHECK(told == "muster: warning: l: made room\n");
}

TEST_CASE("an agent cannot forge a line of the log") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::fail_with("dns_unresolved"));
  std::string told;
  log::redirect([&](const std::string& line) { told += line; });
  bed.start();
  run_until(bed.loop, [&] { return bed.fleet->ready_count() == 1; });
  bed.peers[0]->say(wire::FrameType::kLog, 0,
                    wire::to_json(wire::LogLine{
                        "warn", "x\nmuster: error: forged\r\x1b[2K\xc2\x9b" +
                                    std::string(9000, 'y')}));
  run_until(bed.loop, [&] { return !told.empty(); });
  log::redirect({});
  CHECK(told.starts_with(
      "muster: warning: l: x\\nmuster: error: forged\\r\\x1b[2K\\x9byyy"));
  CHECK(told.ends_with("yyy...\n"));
  CHECK(told.find('\n') == told.size() - 1);
  CHECK(told.size() < 5000);
}

TEST_CASE("a pod that is told to end is known before it is gone") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::open_and_answer);
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready > 0; }));
  bed.peers[1]->say(wire::FrameType::kLog, 0,
                    wire::to_json(wire::LogLine{"warn", "told", false}));
  bed.peers[1]->say(wire::FrameType::kLog, 0,
                    wire::to_json(wire::LogLine{"warn", "ends", true}));
  REQUIRE(run_until(bed.loop, [&] { return !bed.told_to_leave.empty(); }));
  CHECK(bed.told_to_leave == std::vector<uint16_t>{1});
}

TEST_CASE("one that is lost before it has ranks is dialled again") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::open_and_answer);
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  bed.peers[1]->hang_up("agent_exited");
  REQUIRE(run_until(bed.loop, [&] { return bed.lost.size() == 1; }));
  bed.fleet->reconnect(5s);
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 2; }));
  CHECK(bed.fleet->ready_count() == 2);
  CHECK(bed.fleet->dialer(0).attempts() == 1);
  CHECK(bed.fleet->dialer(1).attempts() == 2);
  // From then on it counts as lost again.
  bed.peers[0]->hang_up("agent_exited");
  REQUIRE(run_until(bed.loop, [&] { return bed.lost.size() == 2; }));
  CHECK(bed.failed == 0);
}

TEST_CASE("one that stays away is a laggard as any other") {
  Bed bed;
  int attempts = 0;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", [&attempts](FakePeer& peer) {
    ++attempts == 1 ? test::open_and_answer(peer)
                    : test::fail_with("tcp_refused")(peer);
  });
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  bed.peers[1]->hang_up("agent_exited");
  REQUIRE(run_until(bed.loop, [&] { return bed.lost.size() == 1; }));
  bed.fleet->reconnect(300ms);
  REQUIRE(run_until(bed.loop, [&] { return bed.failed == 1; }));
  REQUIRE(bed.laggards.size() == 1);
  CHECK(bed.laggards[0].error.code == "tcp_refused");
}

TEST_CASE("the launcher's own pod is none of the workers waited for") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.nodes[0].worker = false;
  bed.add("w-0", test::open_and_answer);
  bed.add("w-1.job.team.svc", test::fail_with("dns_unresolved"));
  std::string told;
  log::redirect([&](const std::string& line) { told += line; });
  bed.start(60s);
  run_until(bed.loop,
            [&] { return told.find("waiting") != std::string::npos; });
  log::redirect({});
  CHECK(told.find("waiting for 1 of 2 workers") != std::string::npos);
  CHECK(told.find("`kubectl describe pod w-1 -n team`") != std::string::npos);
}

TEST_CASE("workers that are missing are counted without the launcher's pod") {
  Bed bed;
  bed.add("l", test::fail_with("agent_exited"));
  bed.nodes[0].worker = false;
  bed.add("w-0", test::fail_with("dns_unresolved"));
  bed.add("w-1.job.team.svc", test::fail_with("dns_unresolved"));
  std::string told;
  log::redirect([&](const std::string& line) { told += line; });
  bed.start(60s);
  run_until(bed.loop,
            [&] { return told.find("waiting") != std::string::npos; });
  log::redirect({});
  CHECK(told.find("waiting for 2 of 2 workers and the agent of the launcher's "
                  "own pod") != std::string::npos);
}

TEST_CASE("who alone is not in DNS may be misspelt") {
  const auto laggard = [](const char* host, const char* code) {
    return Laggard{1, host, "resolve", Error{code, "", "", "", ""}};
  };
  const Laggard typo = laggard("wrker-1", "dns_unresolved");
  const Laggard slow = laggard("w-2", "tcp_refused");
  CHECK(lone_missing_names({typo}, 2) == "wrker-1");
  CHECK(lone_missing_names({typo, slow}, 3) == "wrker-1");
  CHECK(lone_missing_names({typo, laggard("x", "dns_unresolved")}, 4) ==
        "wrker-1, x");
  CHECK(lone_missing_names({typo}, 1).empty());  // nobody else is known there
  CHECK(lone_missing_names({slow}, 3).empty());
  CHECK(lone_missing_names({typo, laggard("w-2", "dns_failure")}, 3).empty());
  CHECK(lone_missing_names({typo, typo, typo, typo}, 64).empty());
}

TEST_CASE("a node's own job is not the next one's") {
  Bed bed;
  bed.add("a", test::open_and_answer);
  bed.add("b", test::open_and_answer, "other");
  bed.add("c", test::open_and_answer);
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  std::vector<std::string> jobs;
  for (const auto& peer : bed.peers) {
    jobs.push_back(
        wire::from_json<wire::Hello>(peer->last(wire::FrameType::kHello))->job);
  }
  CHECK(jobs == std::vector<std::string>{"job", "other", "job"});
}

TEST_CASE("a laggard's step and reason are of the same attempt") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  int attempts = 0;
  bed.add("w-0", [&attempts](FakePeer& peer) {
    peer.events.on_step("resolve");
    if (++attempts > 1) return;  // the deadline comes while it asks again
    peer.events.on_step("ssh");
    peer.events.on_closed(Error{"ssh_foreign", "not SSH", {}, {}, {}});
  });
  bed.start(400ms);
  REQUIRE(run_until(bed.loop, [&] { return bed.failed > 0; }));
  REQUIRE(bed.laggards.size() == 1);
  CHECK(attempts == 2);
  CHECK(bed.laggards[0].error.code == "ssh_foreign");
  CHECK(bed.laggards[0].step == "ssh");
}

TEST_CASE("at the deadline every laggard is named with its step") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::fail_with("tcp_refused", "nothing listens"));
  bed.add("w-1", [](FakePeer&) {});
  bed.start(200ms);
  REQUIRE(run_until(bed.loop, [&] { return bed.failed > 0; }));
  CHECK_FALSE(bed.permanent);
  CHECK(bed.ready == 0);
  REQUIRE(bed.laggards.size() == 2);
  CHECK(bed.laggards[0].host == "w-0");
  CHECK(bed.laggards[0].node == 1);
  CHECK(bed.laggards[0].step == "tcp");
  CHECK(bed.laggards[0].error.code == "tcp_refused");
  CHECK(bed.laggards[1].host == "w-1");
  // Nothing has failed there yet: the step it hangs at is what is known.
  CHECK(bed.laggards[1].error.what.find("no answer yet") == 0);
  run_for(bed.loop, 700ms);
  CHECK(bed.failed == 1);
  CHECK(bed.ready == 0);
}

TEST_CASE("an error that no waiting heals ends the launch at once") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::fail_with("version_mismatch", "refused"));
  bed.start(30s);
  REQUIRE(run_until(bed.loop, [&] { return bed.failed > 0; }));
  CHECK(bed.permanent);
}

TEST_CASE("one that vanishes before the last is ready is waited for again") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  int attempts = 0;
  bed.add("w-0", [&attempts](FakePeer& peer) {
    if (++attempts < 4) {
      peer.events.on_closed(Error{"tcp_refused", "no", "", "", ""});
    } else {
      peer.events.on_open();
    }
  });
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.fleet->ready_count() == 1; }));
  bed.peers[0]->hang_up("ssh_closed");
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  CHECK(bed.fleet->ready_count() == 2);
  CHECK(bed.lost.empty());
}

TEST_CASE("who begins to listen while a frame is handled gets no other type") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.start();
  int wrong = 0;
  bed.fleet->on(wire::FrameType::kFacts, [&](uint16_t, const wire::Frame&) {
    bed.fleet->on(wire::FrameType::kExited,
                  [&](uint16_t, const wire::Frame&) { ++wrong; });
  });
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  bed.peers[0]->say(wire::FrameType::kFacts);
  CHECK(wrong == 0);
  bed.peers[0]->say(wire::FrameType::kExited);
  CHECK(wrong == 1);
}

TEST_CASE("frames carry their node; a lost node is told and skipped") {
  Bed bed;
  bed.add("l", test::open_and_answer);
  bed.add("w-0", test::open_and_answer);
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  int also_told = 0;
  bed.fleet->on(wire::FrameType::kStarted,
                [&](uint16_t, const wire::Frame&) { ++also_told; });
  bed.peers[1]->say(wire::FrameType::kStarted, 4);
  bed.peers[1]->say(wire::FrameType::kExited, 4);
  REQUIRE(bed.frames.size() == 1);
  CHECK(bed.frames[0].first == 1);
  CHECK(also_told == 1);
  bed.fleet->send(1, wire::FrameType::kSignal, 3, "x");
  CHECK(bed.peers[1]->count(wire::FrameType::kSignal) == 1);
  CHECK(bed.peers[0]->count(wire::FrameType::kSignal) == 0);
  bed.peers[1]->hang_up("worker_silent");
  CHECK(bed.lost == std::vector<uint16_t>{1});
  CHECK_FALSE(bed.fleet->alive(1));
  bed.fleet->send_all(wire::FrameType::kStop, "{}");
  CHECK(bed.peers[0]->count(wire::FrameType::kStop) == 1);
  CHECK(bed.peers[1]->count(wire::FrameType::kStop) == 0);
}

TEST_CASE("laggards are told in groups") {
  std::vector<Laggard> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(
        {static_cast<uint16_t>(i), "w-" + std::to_string(i), "dns",
         Error{"dns_unresolved", "its name is not in DNS", "", "", ""}});
  }
  all.push_back(
      {9, "w-9", "tcp",
       Error{"tcp_filtered", "no answer yet (step tcp)", "", "", ""}});
  CHECK(laggards_text(all, 8) ==
        "w-0, w-1, w-2, w-3, w-4: its name is not in DNS; "
        "w-9: no answer yet (step tcp)");
  CHECK(laggards_text(all, 2) ==
        "w-0, w-1 and 3 more: its name is not in DNS; "
        "w-9: no answer yet (step tcp)");
  CHECK(laggards_text({}, 8).empty());
  all[0].host = "w-0.job.team.svc";
  const std::string causes = causes_text(all);
  CHECK(causes.starts_with(". Likely cause: its pod is not scheduled"));
  CHECK(causes.find("pod w-0 -n team`; of w-9: a NetworkPolicy") !=
        std::string::npos);
  CHECK(causes.find("w-1") == std::string::npos);
  CHECK(causes_text({}).empty());
  all = {{1, "w-1", "agent",
          Error{"agent_refused", "the agent refused", "it is too old", "", ""}},
         {2, "w-2", "agent", Error{"agent_refused", "the agent refused"}},
         {3, "w-3", "tcp", Error{"tcp_refused", "closed", "errno", "", ""}}};
  CHECK(laggards_text(all, 8) ==
        "w-3: closed; w-1, w-2: the agent refused (it is too old)");
}

}  // namespace
}  // namespace muster
