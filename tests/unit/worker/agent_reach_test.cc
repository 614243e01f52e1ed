// SPDX-License-Identifier: Apache-2.0
// Connections to addresses, from the loop itself.
#include "worker/facts/agent_reach.h"

#include <sys/socket.h>

#include <optional>

#include "../base/without_descriptors.h"
#include "base/loopback.h"
#include "catch.h"
#include "worker/session/agent_listener.h"

using namespace muster;

namespace {

wire::ProbeReply ask(const wire::ProbeRequest& request) {
  Loop loop;
  std::optional<wire::ProbeReply> out;
  REQUIRE(AgentReach::can_answer(request));
  AgentReach reach(loop, request, [&](wire::ProbeReply reply) {
    out = std::move(reply);
    loop.stop();
  });
  Timer guard(loop);
  guard.start(Milliseconds(20000), [&loop] { loop.stop(); });
  loop.run();
  REQUIRE(out);
  return *out;
}

}  // namespace

TEST_CASE("open and closed ports, in the order asked") {
  auto open = listen_on_loopback();
  auto closed = listen_on_loopback();
  REQUIRE(open);
  REQUIRE(closed);
  closed->socket.reset();
  wire::ProbeRequest request;
  request.targets = {{"127.0.0.1", closed->port},
                     {"127.0.0.1", open->port},
                     {"0.0.0.0", open->port}};
  const auto reply = ask(request);
  REQUIRE(reply.results.size() == 3);
  CHECK(reply.results[0].outcome == "refused");
  CHECK(reply.results[0].subject ==
        "127.0.0.1:" + std::to_string(closed->port));
  CHECK(reply.results[1].outcome == "ok");
  CHECK(reply.results[2].outcome == "ok");
}

TEST_CASE("who does not answer is a timeout, and nobody waits longer") {
  // A full backlog: the kernel drops what comes then.
  auto other = listen_on_loopback();
  REQUIRE(other);
  REQUIRE(::listen(other->socket.get(), 0) == 0);
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.push_back(connect_to_loopback(other->port));
  }
  wire::ProbeRequest request;
  request.targets = {{"127.0.0.1", other->port}};
  request.timeout_ms = 200;
  CHECK(ask(request).results[0].outcome == "timeout");
}

TEST_CASE("nothing asked is answered; a name is somebody else's work") {
  CHECK(ask({}).results.empty());
  wire::ProbeRequest named;
  named.names = {"localhost"};
  CHECK_FALSE(AgentReach::can_answer(named));
  wire::ProbeRequest target;
  target.targets = {{"localhost", 80}};
  CHECK_FALSE(AgentReach::can_answer(target));
}

TEST_CASE("the port for others costs nothing without descriptors") {
  Loop loop;
  ProbeListener listener(loop);
  const auto port = listener.open("");
  REQUIRE(port);
  const UniqueFd guest = connect_to_loopback(*port);
  REQUIRE(guest);
  CHECK(cpu_ms_without_descriptors(loop) < 200);
}
