// SPDX-License-Identifier: Apache-2.0
// The launcher's end of one agent: a fake that says wrong things, and the real
// muster-agent.
#include "launcher/connect/agent_link.h"

#include "base/reaper.h"
#include "catch.h"
#include "fake_fleet.h"
#include "launcher/connect/process_transport.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::FakePeer;
using test::run_for;
using test::run_until;

struct Bed {
  Loop loop;
  std::shared_ptr<FakePeer> peer = std::make_shared<FakePeer>();
  std::vector<std::string> steps;
  int ready = 0;
  std::vector<wire::Frame> frames;
  std::vector<Error> closed;
  std::unique_ptr<AgentLink> link;

  void start(std::unique_ptr<Transport> transport, wire::Hello hello) {
    AgentLinkEvents events;
    events.on_step = [this](std::string_view step) {
      steps.emplace_back(step);
    };
    events.on_ready = [this](const wire::HelloReply&) { ++ready; };
    events.on_frame = [this](wire::Frame frame) {
      frames.push_back(std::move(frame));
    };
    events.on_closed = [this](Error error) {
      closed.push_back(std::move(error));
    };
    link = std::make_unique<AgentLink>(loop, std::move(transport),
                                       std::move(hello), std::move(events));
    link->start();
  }
  // Silence is short only where it is what the test waits for: anywhere else
  // a busy machine would be taken for a lost agent.
  void start(bool answers_hello = true, int silence_ms = 30'000) {
    peer->answers_hello = answers_hello;
    wire::Hello hello = test::test_hello();
    hello.host = "w-1";
    hello.silence_ms = silence_ms;
    start(test::make_fake_transport(loop, peer, test::open_and_answer), hello);
  }
  bool wait_ready() {
    return run_until(loop, [this] { return ready == 1; });
  }
};

// The lock kills the old agent at grace + 2 s and is "busy" at 2 grace + 6 s.
TEST_CASE("a claim of the pod ends before the launcher drops the agent") {
  for (const int seconds : {0, 1, 5, 13, 60, 3600}) {
    const Milliseconds grace{1000 * seconds};
    CHECK(hello_deadline(grace) > 2 * grace + Milliseconds{6000});
  }
}

TEST_CASE("hello, its answer, then frames both ways") {
  Bed bed;
  bed.start();
  CHECK_FALSE(bed.link->ready());
  REQUIRE(bed.wait_ready());
  CHECK(bed.link->ready());
  CHECK(bed.steps == std::vector<std::string>{"agent"});
  REQUIRE(!bed.peer->got.empty());
  const auto hello = wire::from_json<wire::Hello>(bed.peer->got[0].payload);
  REQUIRE(hello);
  CHECK(hello->host == "w-1");
  bed.link->send(wire::FrameType::kSignal, 7, "payload", 3);
  CHECK(bed.peer->last(wire::FrameType::kSignal) == "payload");
  bed.peer->say(wire::FrameType::kStarted, 9, "{}");
  REQUIRE(bed.frames.size() == 1);
  CHECK(bed.frames[0].id == 9);
}

TEST_CASE("a program too large for a message is refused, not the worker lost") {
  Bed bed;
  bed.start();
  REQUIRE(bed.wait_ready());
  wire::StartRequest request;
  request.argv = {"train", std::string(wire::kMaxPayload, 'x')};
  bed.link->send(wire::FrameType::kStart, 7, wire::to_json(request));
  CHECK(bed.frames.empty());  // the sender is not interrupted
  REQUIRE(run_until(bed.loop, [&] { return !bed.frames.empty(); }));
  CHECK(bed.peer->count(wire::FrameType::kStart) == 0);
  CHECK(bed.frames[0].type == wire::FrameType::kStartFailed);
  CHECK(bed.frames[0].id == 7);
  const auto refusal =
      wire::from_json<wire::StartFailed>(bed.frames[0].payload);
  REQUIRE(refusal);
  CHECK(refusal->exit_code == 126);
  CHECK(refusal->error.where == "w-1");
  CHECK(refusal->error.text().find("at most 1") != std::string::npos);
  CHECK(bed.closed.empty());
}

TEST_CASE("any other message that is too large ends the link, and says so") {
  Bed bed;
  bed.start();
  REQUIRE(bed.wait_ready());
  bed.link->send(wire::FrameType::kJobMap, 0,
                 std::string(wire::kMaxPayload + 1, 'x'));
  REQUIRE(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "request_too_large");
  CHECK(bed.peer->count(wire::FrameType::kJobMap) == 0);
}

TEST_CASE("questions leave with the hello, before it is answered") {
  Bed bed;
  bed.peer->answers_hello = false;
  wire::Frame question;
  question.type = wire::FrameType::kFactsRequest;
  question.id = 5;
  question.payload = "/usr/bin/mpirun";
  wire::Hello hello = test::test_hello();
  hello.node = 3;
  bed.link = std::make_unique<AgentLink>(
      bed.loop,
      test::make_fake_transport(bed.loop, bed.peer, test::open_and_answer),
      hello, AgentLinkEvents{[](std::string_view) {}, {}, {}, [](auto) {}},
      std::vector<wire::Frame>{question});
  bed.link->start();
  REQUIRE(run_until(bed.loop, [&] { return bed.peer->got.size() == 2; }));
  CHECK(bed.peer->sends == 1);
  CHECK(bed.peer->got[0].type == wire::FrameType::kHello);
  CHECK(bed.peer->got[1].type == wire::FrameType::kFactsRequest);
  CHECK(bed.peer->got[1].id == 5);
  CHECK(bed.peer->got[1].node == 3);
  CHECK(bed.peer->got[1].payload == "/usr/bin/mpirun");
}

TEST_CASE("frames in pieces, and several at once") {
  Bed bed;
  bed.start();
  REQUIRE(bed.wait_ready());
  std::string bytes;
  for (uint32_t id = 1; id <= 3; ++id) {
    wire::encode(wire::FrameType::kOutput, 1, 0, id, "text", bytes);
  }
  for (const char c : bytes.substr(0, 20)) bed.peer->say_raw({c});
  bed.peer->say_raw(bytes.substr(20));
  REQUIRE(bed.frames.size() == 3);
  CHECK(bed.frames[2].id == 3);
}

TEST_CASE("something else answers: its words are in the error") {
  Bed bed;
  bed.start(false);
  run_for(bed.loop, 10ms);
  bed.peer->say_raw("bash: muster-agent: command not found\n");
  REQUIRE(bed.closed.size() == 1);
  CHECK(bed.closed[0].code == "protocol");
  CHECK(bed.closed[0].where == "w-1");
  CHECK(bed.closed[0].why.find("command not found") != std::string::npos);
  CHECK(bed.ready == 0);
}

TEST_CASE("a frame before hello's answer is refused, as is a bad answer") {
  for (const auto type :
       {wire::FrameType::kOutput, wire::FrameType::kHelloReply}) {
    Bed bed;
    bed.start(false);
    run_for(bed.loop, 10ms);
    bed.peer->say(type, 1, "not json");
    REQUIRE(bed.closed.size() == 1);
    CHECK(bed.closed[0].code == "protocol");
    CHECK(bed.frames.empty());
  }
}

TEST_CASE("a refusal passes on the agent's reason, and is final") {
  for (const auto& [code, expected] :
       {std::pair{"version", "version_mismatch"},
        std::pair{"no_writable_dir", "no_writable_dir"},
        std::pair{"busy", "agent_refused"}}) {
    Bed bed;
    bed.start(false);
    run_for(bed.loop, 10ms);
    std::string bytes;
    wire::encode(wire::FrameType::kRefused, 0, 0, 0,
                 wire::to_json(wire::Refused{code, "it speaks 7 to 9"}), bytes);
    wire::HelloReply reply;
    reply.protocol = 1;
    wire::encode(wire::FrameType::kHelloReply, 0, 0, 0, wire::to_json(reply),
                 bytes);
    bed.peer->say_raw(bytes);
    REQUIRE(bed.closed.size() == 1);
    CHECK(bed.closed[0].code == expected);
    CHECK(bed.closed[0].why == "it speaks 7 to 9");
    CHECK(bed.closed[0].hint.empty());  // "busy" is no matter of versions
    CHECK(bed.ready == 0);
  }
}

TEST_CASE("a link that closes at once brings the agent's last words") {
  Bed bed;
  bed.start(false);
  run_for(bed.loop, 10ms);
  bed.peer->events.on_stderr("exec format error\n");
  bed.peer->hang_up("agent_exited");
  REQUIRE(bed.closed.size() == 1);
  CHECK(bed.closed[0].code == "agent_exited");
  CHECK(bed.closed[0].why == "exec format error");
}

TEST_CASE("heartbeats go out; an agent that falls silent is lost") {
  Bed bed;
  bed.start(true, 1'000);
  REQUIRE(bed.wait_ready());
  for (int i = 0; i < 10; ++i) {  // any byte counts as a sign of life
    run_for(bed.loop, 30ms);
    bed.peer->say(wire::FrameType::kHeartbeat);
  }
  CHECK(bed.closed.empty());
  CHECK(bed.peer->count(wire::FrameType::kHeartbeat) >= 3);
  CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "worker_silent");
  CHECK(bed.closed[0].where == "w-1");
  run_for(bed.loop, 200ms);
  CHECK(bed.closed.size() == 1);
}

TEST_CASE("nonsense after hello loses the agent") {
  Bed bed;
  bed.start();
  REQUIRE(bed.wait_ready());
  bed.peer->say_raw(std::string(64, '\xff'));
  REQUIRE(bed.closed.size() == 1);
  CHECK(bed.closed[0].code == "protocol");
  bed.peer->hang_up("agent_exited");
  CHECK(bed.closed.size() == 1);
}

TEST_CASE("a link may be destroyed by the frame it hands on") {
  Bed bed;
  bed.start();
  REQUIRE(bed.wait_ready());
  // Two frames at once; the first one's handler ends the link.
  std::string bytes;
  wire::encode(wire::FrameType::kRefused, 0, 0, 0, "{}", bytes);
  wire::encode(wire::FrameType::kRefused, 0, 0, 0, "{}", bytes);
  AgentLinkEvents events;
  int frames = 0;
  auto peer = std::make_shared<FakePeer>();
  std::unique_ptr<AgentLink> link;
  bool ready = false;
  events.on_step = [](std::string_view) {};
  events.on_ready = [&](const wire::HelloReply&) { ready = true; };
  events.on_closed = [](const Error&) {};
  events.on_frame = [&](const wire::Frame&) {
    ++frames;
    link.reset();
  };
  link = std::make_unique<AgentLink>(
      bed.loop,
      test::make_fake_transport(bed.loop, peer, test::open_and_answer),
      test::test_hello(), std::move(events));
  link->start();
  REQUIRE(run_until(bed.loop, [&] { return ready; }));
  // As a transport calls it: from a function object of its own.
  const auto on_data = peer->events.on_data;
  on_data(bytes);
  CHECK(frames == 1);
  CHECK_FALSE(peer->transport_alive);
}

struct RealAgent : Bed {
  Reaper reaper{loop};
  void start_agent() {
    wire::Hello hello = test::test_hello();
    hello.host = "w-1";
    hello.node = 1;
    hello.job = "unit-" + std::to_string(::getpid());
    hello.launch_id = "unit" + std::to_string(::getpid());
    hello.heartbeat_ms = 100;
    hello.silence_ms = 10'000;
    start(std::make_unique<ProcessTransport>(
              loop, reaper, "w-1", ProcessTransport::Child::kAgent,
              std::vector<std::string>{MUSTER_AGENT_BINARY, "agent"},
              current_environment()),
          hello);
  }
};

TEST_CASE("the real agent answers, starts a program and tells its end") {
  RealAgent bed;
  bed.start_agent();
  REQUIRE(bed.wait_ready());
  wire::StartRequest request;
  request.argv = {"sh", "-c", "echo out; exit 3"};
  bed.link->send(wire::FrameType::kStart, 1, wire::to_json(request));
  const auto find = [&](wire::FrameType type) -> const wire::Frame* {
    for (const auto& frame : bed.frames) {
      if (frame.type == type) return &frame;
    }
    return nullptr;
  };
  REQUIRE(run_until(bed.loop,
                    [&] { return find(wire::FrameType::kExited) != nullptr; }));
  const auto exited =
      wire::from_json<wire::Exited>(find(wire::FrameType::kExited)->payload);
  REQUIRE(exited);
  CHECK(exited->wait_status == 3 << 8);
  REQUIRE(find(wire::FrameType::kOutput) != nullptr);
  CHECK(wire::parse_output(find(wire::FrameType::kOutput)->payload)->bytes ==
        "out\n");
  bed.link.reset();
}

TEST_CASE("the real agent refuses a protocol that it does not speak") {
  RealAgent bed;
  wire::Hello hello = test::test_hello();
  hello.protocol_min = 900;
  hello.protocol_max = 901;
  bed.start(std::make_unique<ProcessTransport>(
                bed.loop, bed.reaper, "w-1", ProcessTransport::Child::kAgent,
                std::vector<std::string>{MUSTER_AGENT_BINARY, "agent"},
                current_environment()),
            hello);
  REQUIRE(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "version_mismatch");
}

TEST_CASE("a program that is no agent") {
  RealAgent bed;
  wire::Hello hello = test::test_hello();
  hello.host = "w-1";
  bed.start(std::make_unique<ProcessTransport>(
                bed.loop, bed.reaper, "w-1", ProcessTransport::Child::kAgent,
                std::vector<std::string>{"sh", "-c", "echo broken >&2; exit 1"},
                current_environment()),
            hello);
  REQUIRE(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "agent_exited");
  CHECK(bed.closed[0].why == "broken");
}

}  // namespace
}  // namespace muster
