// SPDX-License-Identifier: Apache-2.0
// Questions to all agents at once, and what is read out of the answers.
#include "launcher/connect/survey.h"

#include "catch.h"
#include "fake_fleet.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::FakeFleet;
using test::run_for;
using test::run_until;

struct Bed {
  Loop loop;
  FakeFleet fleet{loop, {"l", "w-0", "w-1", "w-2"}};
  std::vector<uint16_t> asked;
  std::optional<Survey::Answers> answers;
  std::unique_ptr<Survey> survey;

  void start(Milliseconds deadline = 5s) {
    REQUIRE(fleet.connect());
    ask(deadline);
  }
  void ask(Milliseconds deadline) {
    survey = std::make_unique<Survey>(loop, *fleet.fleet);
    survey->start(
        deadline, [this](uint16_t node) { asked.push_back(node); },
        [this](Survey::Answers got) { answers = std::move(got); });
  }
};

TEST_CASE("every agent is asked; the last answer ends the survey") {
  Bed bed;
  bed.start();
  CHECK(bed.asked == std::vector<uint16_t>{0, 1, 2, 3});
  for (uint16_t node = 0; node < 3; ++node) {
    bed.survey->answer(node, "a" + std::to_string(node));
  }
  CHECK_FALSE(bed.answers);
  CHECK(bed.survey->running());
  bed.survey->answer(3, "a3");
  REQUIRE(bed.answers);
  CHECK(bed.answers->size() == 4);
  CHECK(bed.answers->at(2) == "a2");
  CHECK_FALSE(bed.survey->running());
  bed.survey->answer(3, "late");  // and is ignored
}

TEST_CASE("at the deadline it takes what has come") {
  Bed bed;
  bed.start(50ms);
  bed.survey->answer(1, "x");
  REQUIRE(run_until(bed.loop, [&] { return bed.answers.has_value(); }));
  CHECK(bed.answers->size() == 1);
}

TEST_CASE("a survey that was given up ends in nothing") {
  Bed bed;
  bed.start(50ms);
  bed.survey->answer(0, "x");
  bed.survey->cancel();
  CHECK_FALSE(bed.survey->running());
  for (uint16_t node = 1; node < 4; ++node) bed.survey->answer(node, "x");
  run_for(bed.loop, 100ms);
  CHECK_FALSE(bed.answers);
}

TEST_CASE("who was not asked cannot answer") {
  Bed bed;
  REQUIRE(bed.fleet.connect());
  bed.fleet.peers[3]->hang_up("ssh_closed");
  bed.ask(5s);
  CHECK(bed.asked == std::vector<uint16_t>{0, 1, 2});
  bed.survey->answer(3, "x");
  bed.survey->answer(0, "x");
  bed.survey->answer(1, "x");
  CHECK_FALSE(bed.answers);
  bed.survey->answer(2, "x");
  CHECK(bed.answers);
}

TEST_CASE("facts that did not come, or make no sense, are findings") {
  Bed bed;
  bed.start();
  NodeFacts facts;
  facts.hostname = "w-0";
  const Inspected out = read_facts(
      *bed.fleet.fleet,
      {{0, to_json(NodeFacts{})}, {1, to_json(facts)}, {2, "nonsense"}});
  REQUIRE(out.facts.size() == 4);
  CHECK(out.facts[1].hostname == "w-0");
  REQUIRE(out.findings.size() == 2);
  CHECK(out.findings[0].text.find("w-1") != std::string::npos);
  CHECK(out.findings[1].text.find("w-2") != std::string::npos);
  CHECK(out.findings[1].code == "facts_missing");
}

TEST_CASE("the interface that has an address") {
  NodeFacts facts;
  facts.interfaces = {{"lo", {"127.0.0.1/8"}, true, 65536},
                      {"eth0", {"10.0.0.1/24", "fd00::1/64"}, true, 1500}};
  CHECK(interface_of(facts, "10.0.0.1") == "eth0");
  CHECK(interface_of(facts, "fd00::1") == "eth0");
  CHECK(interface_of(facts, "10.0.0.10").empty());
  CHECK(interface_of(facts, "").empty());
}

TEST_CASE("reachability: a ring of workers, all to the launcher, one back") {
  Bed bed;
  bed.start();
  bed.fleet.peers[0]->address = "";  // a child process: no address
  std::map<uint16_t, int> ports = {{0, 100}, {1, 101}, {2, 102}, {3, 103}};
  const auto tests = plan_reach_tests(*bed.fleet.fleet, ports);
  std::vector<std::pair<int, int>> pairs;
  for (const ReachTest& test : tests) {
    pairs.emplace_back(test.from, test.to);
    CHECK(test.port == 100 + test.to);
  }
  CHECK(pairs == std::vector<std::pair<int, int>>{
                     {1, 0}, {2, 0}, {3, 0}, {1, 2}, {2, 3}, {3, 1}, {0, 1}});
  CHECK(tests[0].address == "10.0.0.1");  // where the worker's link starts
  CHECK(tests[3].address == "10.0.0.3");
}

TEST_CASE("reachability: nodes that do not listen are nobody's target") {
  Bed bed;
  bed.start();
  bed.fleet.peers[0]->address = "";
  const auto tests = plan_reach_tests(*bed.fleet.fleet, {{2, 102}});
  REQUIRE(tests.size() == 1);
  CHECK(tests[0].from == 1);
  CHECK(tests[0].to == 2);
  for (const auto& peer : bed.fleet.peers) peer->address = "";
  CHECK(plan_reach_tests(*bed.fleet.fleet, {{2, 102}}).empty());
}

TEST_CASE("a blocked connection is an error that names both ends") {
  Bed bed;
  bed.start();
  wire::ProbeReply reply;
  reply.results = {{"10.0.0.3:102", "timeout", "no answer in 5 s"},
                   {"10.0.0.9:9", "timeout", "not asked"}};
  wire::ProbeReply fine;
  fine.results = {{"[fd00::2]:103", "ok", ""}};
  const auto findings = read_reach(
      *bed.fleet.fleet,
      {{1, 2, "10.0.0.3", 102},
       {2, 3, "fd00::2", 103},
       {0, 1, "10.0.0.2", 101},
       {3, 0, "10.0.0.1", 100},
       {3, 1, "10.0.0.2", 101}},
      {{1, wire::to_json(reply)}, {2, wire::to_json(fine)}, {3, "nonsense"}});
  // Who has not answered, or nothing that can be read, has proved nothing.
  REQUIRE(findings.size() == 3);
  for (const size_t i : {1, 2}) {
    CHECK(findings[i].severity == Severity::kWarning);
    CHECK(findings[i].code == "reach_unproved");
  }
  CHECK(findings[1].text == "whom l can reach is not proved");
  CHECK(findings[2].text == "whom w-2 can reach is not proved");
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].code == "unanswered");  // a timeout: try again
  CHECK(findings[0].text.find("w-0") != std::string::npos);
  CHECK(findings[0].text.find("w-1") != std::string::npos);
  CHECK(findings[0].evidence.find("10.0.0.3:102: timeout") !=
        std::string::npos);
}

}  // namespace
}  // namespace muster
