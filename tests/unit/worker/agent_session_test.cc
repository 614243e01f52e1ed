// SPDX-License-Identifier: Apache-2.0
// Hello, versions, and how an agent ends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "agent_harness.h"
#include "base/process_table.h"
#include "base/runtime_dir.h"
#include "catch.h"

using namespace muster;
using muster::test::AgentHarness;
using muster::test::eventually;
using wire::FrameType;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

TEST_CASE("hello is answered with version, host and pid") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  const auto reply = wire::from_json<wire::HelloReply>(
      agent.frames[FrameType::kHelloReply][0].payload);
  REQUIRE(reply);
  CHECK(reply->protocol == wire::kProtocol);
  CHECK(reply->pid == agent.pid());
  CHECK_FALSE(reply->hostname.empty());
  CHECK(reply->realtime_ns > 1'600'000'000'000'000'000);
  CHECK(agent.frames[FrameType::kHelloReply][0].node == 1);
}

TEST_CASE("a launcher of another protocol is refused in one sentence") {
  AgentHarness agent;
  agent.hello.protocol_min = wire::kProtocol + 1;
  agent.hello.protocol_max = wire::kProtocol + 2;
  CHECK_FALSE(agent.say_hello());
  REQUIRE(agent.frames[FrameType::kRefused].size() == 1);
  const auto refused = wire::from_json<wire::Refused>(
      agent.frames[FrameType::kRefused][0].payload);
  REQUIRE(refused);
  CHECK(refused->code == "version");
  CHECK(refused->text.find("2 to 3") != std::string::npos);
  CHECK(agent.wait_agent() == 2);
}

TEST_CASE("garbage instead of hello ends the agent with 2") {
  AgentHarness agent;
  agent.send_raw("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
  CHECK(agent.wait_agent() == 2);
}

TEST_CASE("EOF instead of hello ends the agent with 2") {
  AgentHarness agent;
  agent.hang_up();
  CHECK(agent.wait_agent() == 2);
}

TEST_CASE("bye with success ends with 80, without with 0") {
  for (const bool success : {true, false}) {
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    REQUIRE(agent.start(1, "sleep 100"));
    agent.send(FrameType::kBye, 0, wire::to_json(wire::ByeMessage{success}));
    CHECK(agent.wait_agent() == (success ? 80 : 0));
    CHECK(agent.processes[1].exited.has_value());
    CHECK(agent.frames[FrameType::kStopped].size() == 1);
  }
}

TEST_CASE("EOF without bye ends everything within the grace, with 3") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "trap '' TERM; while :; do sleep 1; done"));
  const pid_t child = agent.processes[1].started->pid;
  const auto start = std::chrono::steady_clock::now();
  agent.hang_up();
  CHECK(agent.wait_agent() == 3);
  CHECK(seconds_since(start) < 60);
  CHECK_FALSE(is_alive(child));
}

TEST_CASE("silence of the launcher ends everything, with 3") {
  AgentHarness agent;
  agent.hello.silence_ms = 600;
  agent.answer_heartbeats = false;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "exec sleep 100"));
  const pid_t child = agent.processes[1].started->pid;
  const auto start = std::chrono::steady_clock::now();
  CHECK(agent.wait_agent() == 3);
  CHECK(seconds_since(start) < 60);
  CHECK_FALSE(is_alive(child));
}

TEST_CASE("heartbeats keep the agent alive and carry memory figures") {
  AgentHarness agent;
  agent.hello.silence_ms = 2000;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.run_until(
      [&] { return agent.frames[FrameType::kHeartbeat].size() >= 15; }));
  const auto sample = wire::from_json<wire::HealthSample>(
      agent.frames[FrameType::kHeartbeat].back().payload);
  REQUIRE(sample);
  CHECK(sample->processes > 0);
  CHECK(sample->realtime_ns > 0);
}

TEST_CASE("SIGTERM to the agent is announced, everything stops, exit 0") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "exec sleep 100"));
  ::kill(agent.pid(), SIGTERM);
  CHECK(agent.wait_agent() == 0);
  REQUIRE(agent.frames[FrameType::kLog].size() == 1);
  CHECK(agent.frames[FrameType::kLog][0].payload.find("SIGTERM") !=
        std::string::npos);
  CHECK(agent.frames[FrameType::kStopped].size() == 1);
  REQUIRE(agent.processes[1].exited);
  CHECK(WTERMSIG(agent.processes[1].exited->wait_status) == SIGTERM);
}

TEST_CASE("the run directory is gone after the agent") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "echo $MUSTER_RUN_DIR"));
  REQUIRE(agent.wait_exit(1));
  std::string dir = agent.processes[1].out;
  dir.pop_back();
  CHECK(std::filesystem::is_directory(dir));
  agent.send(FrameType::kBye, 0, wire::to_json(wire::ByeMessage{true}));
  CHECK(agent.wait_agent() == 80);
  CHECK_FALSE(std::filesystem::exists(dir));
}

TEST_CASE("a restarted launcher evicts the agent of its predecessor") {
  AgentHarness old;
  REQUIRE(old.say_hello());
  // Ignores TERM and got away from its parent.
  REQUIRE(old.start(1, "trap '' TERM; (setsid sleep 100 &) ; sleep 100"));
  const pid_t child = old.processes[1].started->pid;

  AgentHarness sibling;  // same incarnation: coexists
  sibling.hello.job = old.hello.job;
  REQUIRE(sibling.say_hello());
  CHECK(is_alive(old.pid()));

  AgentHarness next;
  next.hello.job = old.hello.job;
  next.hello.incarnation = "two";
  // Who does not leave within the newcomer's grace is killed: on a machine with
  // much else to do, the usual half second would be too short to leave well.
  next.hello.grace_ms = 60'000;
  REQUIRE(next.say_hello(60));
  CHECK_FALSE(is_alive(child));
  CHECK(old.wait_agent() == 0);
  CHECK(sibling.wait_agent() == 0);
  REQUIRE(next.start(1, "echo here"));
  REQUIRE(next.wait_exit(1));
  CHECK(next.processes[1].out == "here\n");
}

TEST_CASE("an agent that does not leave is killed with all that it started") {
  AgentHarness old;
  REQUIRE(old.say_hello());
  REQUIRE(old.start(1, "sleep 100"));
  const pid_t child = old.processes[1].started->pid;
  ::kill(old.pid(), SIGSTOP);
  AgentHarness next;
  next.hello.job = old.hello.job;
  next.hello.incarnation = "two";
  next.hello.grace_ms = 0;
  REQUIRE(next.say_hello(60));
  CHECK_FALSE(is_alive(child));
  CHECK(old.wait_agent() == 128 + SIGKILL);
}

TEST_CASE("a killed agent's leftovers are swept by its successor") {
  AgentHarness old;
  REQUIRE(old.say_hello());
  REQUIRE(old.start(1, "(setsid sleep 100 & echo $!); sleep 100"));
  REQUIRE(old.run_until(
      [&] { return old.processes[1].out.find('\n') != std::string::npos; }));
  const pid_t escaped = std::stoi(old.processes[1].out);
  ::kill(old.pid(), SIGKILL);
  CHECK(old.wait_agent() == 128 + SIGKILL);
  REQUIRE(is_alive(escaped));

  AgentHarness next;
  next.hello.job = old.hello.job;
  next.hello.incarnation = "two";
  REQUIRE(next.say_hello());
  CHECK(eventually([escaped] { return !is_alive(escaped); }));
  for (const std::string& directory : writable_candidates()) {
    const std::string left =
        directory + "/muster-" + old.hello.launch_id + "-n1";
    CHECK(::access(left.c_str(), F_OK) != 0);
  }
}
