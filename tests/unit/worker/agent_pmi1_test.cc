// SPDX-License-Identifier: Apache-2.0
// Ranks that come by PMI_PORT, over real sockets.
#include "worker/pmix/agent_pmi1.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "catch.h"
#include "pmi/worlds.h"

namespace muster {
namespace {

TEST_CASE("all ranks of a pod may come by PMI_PORT at once") {
  constexpr int kRanks = 128;
  Loop loop;
  const auto world = test::make_world(kRanks, {"0-127"});
  REQUIRE(world);
  ModexClient modex(
      [](wire::FrameType, uint8_t, uint32_t, std::string_view) {});
  PmiEvents events;
  events.connected = [](int) {};
  events.finalized = [](int) {};
  events.aborted = [](int, int, const std::string&) {};
  events.complain = [](int, const std::string&) {};
  AgentPmi1 pmi(loop, *world, modex, events);
  const std::string address = pmi.port();
  REQUIRE_FALSE(address.empty());
  const int port = std::atoi(address.substr(address.find(':') + 1).c_str());
  const auto turn = [&] {
    Timer end(loop);
    end.start(Milliseconds{100}, [&] { loop.stop(); });
    loop.run();
  };
  // Each has its first word only half out when the others come.
  std::vector<UniqueFd> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(connect_to_loopback(port));
    REQUIRE(ranks.back());
    REQUIRE(::send(ranks.back().get(), "cmd=", 4, MSG_NOSIGNAL) == 4);
  }
  turn();
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string rest =
        "initack pmiid=" + std::to_string(pmi.id_for(rank)) + "\n";
    (void)!::send(ranks[static_cast<size_t>(rank)].get(), rest.data(),
                  rest.size(), MSG_NOSIGNAL);
  }
  turn();
  int welcome = 0;
  for (const UniqueFd& rank : ranks) {
    char bytes[256];
    if (::recv(rank.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) ++welcome;
  }
  CHECK(welcome == kRanks);
}

TEST_CASE("a rank that never reads its answers is hung up on") {
  Loop loop;
  const auto world = test::make_world(1, {"0"});
  REQUIRE(world);
  ModexClient modex(
      [](wire::FrameType, uint8_t, uint32_t, std::string_view) {});
  std::string complaint;
  PmiEvents events;
  events.complain = [&](int, const std::string& text) { complaint = text; };
  AgentPmi1 pmi(loop, *world, modex, events);
  auto rank = pmi.connect(0);
  REQUIRE(rank);
  set_nonblocking(rank->get());
  const std::string put =
      "cmd=put key=k value=" + std::string(1000, 'v') + "\n";
  REQUIRE(::send(rank->get(), put.data(), put.size(), MSG_NOSIGNAL) > 0);
  std::string asked;
  for (int i = 0; i < 100; ++i) asked += "cmd=get key=k\n";
  // Each line is answered by a thousand bytes.
  bool open = true;
  for (int turn = 0; turn < 100 && open; ++turn) {
    open = ::send(rank->get(), asked.data(), asked.size(), MSG_NOSIGNAL) > 0;
    Timer end(loop);
    end.start(Milliseconds{5}, [&] { loop.stop(); });
    loop.run();
  }
  CHECK_FALSE(open);
  CHECK(complaint.find("does not read") != std::string::npos);
}

}  // namespace
}  // namespace muster
