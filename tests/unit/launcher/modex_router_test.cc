// SPDX-License-Identifier: Apache-2.0
// The middle of the star: what agents send it, what the other agents get, and
// who is named when ranks do not meet.
#include "launcher/start/modex_router.h"

#include <functional>
#include <utility>

#include "base/log.h"
#include "catch.h"
#include "fake_fleet.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;
using wire::FrameType;

using Nodes = std::vector<wire::JobMapNode>;

// Two ranks, on the fleet's nodes 1 and 2 unless told otherwise.
struct Bed {
  explicit Bed(Milliseconds deadline = 60s,
               Nodes nodes = {{"w-0", "0"}, {"w-1", "1"}}) {
    REQUIRE(fleet.connect());
    log::redirect([this](const std::string& line) { told += line; });
    wire::JobMap map;
    map.nspace = "n";
    for (const auto& node : nodes) {
      map.size += static_cast<int>(parse_rank_ranges(node.ranks, 64)->size());
    }
    map.nodes = std::move(nodes);
    std::vector<uint16_t> fleet_nodes;
    for (uint16_t i = 1; i <= map.nodes.size(); ++i) fleet_nodes.push_back(i);
    auto world = World::from(map);
    REQUIRE(world);
    ModexEvents events;
    events.on_broken = [this](Error error, int rank) {
      broken.push_back(std::move(error));
      blamed = rank;
    };
    events.on_abort = [this](int rank, int code, const std::string&) {
      aborted = {rank, code};
    };
    router =
        std::make_unique<ModexRouter>(loop, *fleet.fleet, std::move(*world),
                                      fleet_nodes, deadline, std::move(events));
  }
  ~Bed() { log::redirect({}); }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  void say(size_t node, FrameType type, uint32_t id, const std::string& what) {
    fleet.peers[node]->say(type, id, what);
  }
  void fence(size_t node, uint32_t id, const std::string& participants,
             const std::string& data, uint32_t sequence = 0) {
    say(node, FrameType::kFence, id,
        wire::to_json(wire::FenceCall{participants, sequence, data.size()}));
    if (!data.empty()) say(node, FrameType::kModexData, id, data);
  }
  void state(size_t node, int rank, const std::string& what, int code = 0) {
    say(node, FrameType::kRankState, 0,
        wire::to_json(wire::RankState{rank, what, code, ""}));
  }
  // Waits until `node` is asked who has come.
  void answer_arrivals(size_t node, std::vector<int> ranks) {
    REQUIRE(run_until(
        loop, [&] { return count(node, FrameType::kArrivalsRequest) == 1; }));
    say(node, FrameType::kArrivals, 0,
        wire::to_json(wire::Arrivals{std::move(ranks)}));
  }
  [[nodiscard]] std::string last(size_t node, FrameType type) const {
    return fleet.peers[node]->last(type);
  }
  [[nodiscard]] size_t count(size_t node, FrameType type) const {
    return fleet.peers[node]->count(type);
  }
  [[nodiscard]] size_t times(const std::string& words) const {
    size_t out = 0;
    for (size_t at = told.find(words); at != std::string::npos;
         at = told.find(words, at + 1)) {
      ++out;
    }
    return out;
  }

  Loop loop;
  test::FakeFleet fleet{loop, {"l", "w-0", "w-1"}};
  std::string told;
  std::vector<Error> broken;
  int blamed = -1;
  std::pair<int, int> aborted{-1, 0};
  std::unique_ptr<ModexRouter> router;
};

TEST_CASE("a fence gives all of them what all have put, and is told once") {
  Bed bed;
  bed.fence(1, 5, "pmix:*", "ab");
  CHECK(bed.count(1, FrameType::kModexReply) == 0);
  bed.fence(2, 9, "pmix:*", "cd");
  for (const size_t node : {1, 2}) {
    CHECK(bed.last(node, FrameType::kModexData) == "abcd");
  }
  CHECK(bed.fleet.peers[2]->got.back().id == 9);
  bed.fence(1, 6, "pmix:*", "", 1);
  bed.fence(2, 10, "pmix:*", "", 1);
  CHECK(bed.count(1, FrameType::kModexReply) == 2);
  CHECK(bed.times("all 2 ranks have met") == 1);
  CHECK(bed.broken.empty());
}

TEST_CASE("a node that does not read gets its data when it does") {
  Bed bed;
  bed.fleet.peers[1]->queued = kQueueMark;
  bed.fence(1, 5, "pmix:*", "ab");
  bed.fence(2, 9, "pmix:*", "cd");
  CHECK(bed.count(1, FrameType::kModexReply) == 1);
  CHECK(bed.count(1, FrameType::kModexData) == 0);
  CHECK(bed.last(2, FrameType::kModexData) == "abcd");
  bed.fleet.peers[1]->queued = 0;
  bed.fleet.peers[1]->events.on_drained();
  CHECK(bed.last(1, FrameType::kModexData) == "abcd");
}

TEST_CASE("a get goes to the rank's node and the answer comes back") {
  Bed bed;
  bed.say(1, FrameType::kModexGet, 7, wire::to_json(wire::ModexGet{1}));
  REQUIRE(bed.count(2, FrameType::kModexGet) == 1);
  const uint32_t id = bed.fleet.peers[2]->got.back().id;
  bed.say(2, FrameType::kModexReply, id,
          wire::to_json(wire::ModexReply{{}, 3}));
  bed.say(2, FrameType::kModexData, id, "xyz");
  CHECK(bed.last(1, FrameType::kModexData) == "xyz");
  CHECK(bed.fleet.peers[1]->got.back().id == 7);
  bed.say(1, FrameType::kModexGet, 8, wire::to_json(wire::ModexGet{2}));
  CHECK(bed.last(1, FrameType::kModexReply).find("no such rank") !=
        std::string::npos);
}

TEST_CASE("a get that its rank does not answer is given up") {
  Bed bed(50ms);
  bed.say(1, FrameType::kModexGet, 7, wire::to_json(wire::ModexGet{1}));
  REQUIRE(run_until(bed.loop,
                    [&] { return bed.count(1, FrameType::kModexReply) == 1; }));
  CHECK(bed.last(1, FrameType::kModexReply)
            .find("rank 1 on w-1 did not answer in 50 ms") !=
        std::string::npos);
}

TEST_CASE("who is missing from the first fence of all is named") {
  Bed bed(50ms);
  bed.fence(1, 5, "pmix:*", "");
  bed.answer_arrivals(2, {});
  REQUIRE(run_until(bed.loop, [&] { return !bed.broken.empty(); }));
  CHECK(bed.broken[0].code == "rank_missing");
  CHECK(bed.broken[0].what.find("rank 1 on w-1") != std::string::npos);
  CHECK(bed.blamed == 1);
}

TEST_CASE("of a node that is missing only the rank that hangs is named") {
  Bed bed(50ms, {{"w-0", "2"}, {"w-1", "0-1"}});
  bed.fence(1, 5, "pmix:*", "");
  // Others' ranks are not its to speak of.
  bed.answer_arrivals(2, {0, 2, 7});
  REQUIRE(run_until(bed.loop, [&] { return !bed.broken.empty(); }));
  CHECK(bed.count(1, FrameType::kArrivalsRequest) == 0);
  CHECK(bed.broken[0].what.ends_with(" for rank 1 on w-1"));
  CHECK(bed.blamed == 1);
}

TEST_CASE("a node whose ranks all say that they came is named as a whole") {
  Bed bed(50ms, {{"w-0", "2"}, {"w-1", "0-1"}});
  bed.fence(1, 5, "pmix:*", "");
  bed.answer_arrivals(2, {0, 1});
  REQUIRE(run_until(bed.loop, [&] { return !bed.broken.empty(); }));
  CHECK(bed.broken[0].what.ends_with(" for ranks 0-1 on w-1"));
  CHECK(bed.blamed == -1);
}

TEST_CASE("on one node a rank that hangs in MPI_Init is named") {
  Bed bed(50ms, {{"w-0", "0-1"}});
  bed.state(1, 0, "connected");
  bed.state(1, 1, "connected");
  bed.answer_arrivals(1, {0});
  REQUIRE(run_until(bed.loop, [&] { return !bed.broken.empty(); }));
  CHECK(bed.broken[0].code == "rank_missing");
  CHECK(bed.broken[0].what.ends_with(" for rank 1 on w-0"));
  CHECK(bed.blamed == 1);
}

TEST_CASE("on one node ranks that have met, or leave, are left alone") {
  const bool leaves = GENERATE(false, true);
  const std::vector<int> came =
      leaves ? std::vector<int>{0}
             : GENERATE(std::vector<int>{}, std::vector<int>{0, 1});
  Bed bed(50ms, {{"w-0", "0-1"}});
  bed.state(1, 0, "connected");
  bed.state(1, 1, "connected");
  if (leaves) bed.state(1, 0, "finalized");
  if (!leaves) bed.answer_arrivals(1, came);
  run_for(bed.loop, 1200ms);
  CHECK(bed.broken.empty());
  CHECK(bed.count(1, FrameType::kArrivalsRequest) == (leaves ? 0 : 1));
}

TEST_CASE("ends are told, together, where ranks still run") {
  Bed bed(60s, {{"w-0", "0"}, {"w-1", "1"}});
  bed.state(2, 1, "connected");
  const auto end = [&bed](int rank, int status) {
    wire::Exited exit;
    exit.wait_status = status;
    bed.router->announce_end(rank, exit);
  };
  end(0, 0);
  end(0, 0);  // told again when its output is over
  CHECK(bed.count(2, FrameType::kRanksEnded) == 0);
  REQUIRE(run_until(bed.loop,
                    [&] { return bed.count(2, FrameType::kRanksEnded) == 1; }));
  CHECK(bed.count(1, FrameType::kRanksEnded) == 0);
  const auto told = wire::modex_from_json<wire::RanksEnded>(
      bed.last(2, FrameType::kRanksEnded));
  REQUIRE(told);
  REQUIRE(told->ranks.size() == 1);
  CHECK(told->ranks[0].rank == 0);
  end(1, 256);  // a failure: before the job ends
  CHECK(bed.count(2, FrameType::kRanksEnded) == 2);
}

TEST_CASE("who never reaches MPI_Init is named") {
  Bed bed(50ms);
  bed.state(1, 0, "connected");
  REQUIRE(run_until(bed.loop, [&] { return !bed.broken.empty(); }));
  CHECK(bed.broken[0].code == "rank_missing");
  CHECK(bed.broken[0].what.find("rank 1 on w-1 did not reach MPI_Init") == 0);
  CHECK(bed.blamed == 1);
}

// A program may compute for days between two of them, of whichever kind.
TEST_CASE("once all have met no fence has a deadline") {
  Bed bed(50ms);
  bed.fence(1, 5, "pmix:*", "");
  bed.fence(2, 9, "pmix:*", "");
  bed.fence(1, 6, "pmix:*", "", 1);
  bed.fence(1, 7, "disconnect:*", "");
  run_for(bed.loop, 1200ms);
  CHECK(bed.broken.empty());
  CHECK(bed.times("a fence has waited") == 2);
}

TEST_CASE("a rank that ended while another waits for it is named") {
  Bed bed;
  bed.state(1, 0, "connected");
  bed.fence(1, 5, "pmix:*", "");
  bed.router->rank_ended(1, {});
  REQUIRE(bed.broken.size() == 1);
  CHECK(bed.broken[0].code == "rank_left_fence");
  CHECK(bed.broken[0].what.find("rank 1 on w-1") == 0);
  CHECK(bed.blamed == 1);
}

TEST_CASE("a rank that finalized may end, one that did not may not") {
  Bed bed;
  wire::Exited exit;
  exit.mpi_attached = exit.mpi_finalized = exit.by_pmix = true;
  bed.state(1, 0, "connected");
  bed.state(1, 0, "finalized");
  bed.router->rank_ended(0, exit);
  CHECK(bed.broken.empty());
  exit.mpi_finalized = false;
  bed.router->rank_ended(1, exit);
  REQUIRE(bed.broken.size() == 1);
  CHECK(bed.broken[0].code == "exit_without_finalize");
}

// Its library does not count it as arrived: others may wait in a collective.
TEST_CASE("whom a rank of PMI-1 leaves without finalize is told of it") {
  Bed bed;
  const bool other_ends = GENERATE(false, true);
  wire::Exited exit;
  exit.mpi_attached = true;
  bed.state(1, 0, "connected");
  bed.state(2, 1, "connected");
  bed.router->rank_ended(1, exit);
  run_for(bed.loop, 1s);
  if (other_ends) bed.router->rank_ended(0, exit);
  run_for(bed.loop, 5s);
  CHECK(bed.broken.empty());
  const bool told = bed.told.find(
                        "rank 1 on w-1 ended with code 0 without "
                        "MPI_Finalize") != std::string::npos;
  CHECK(told != other_ends);
}

TEST_CASE("an abort is told with its code") {
  Bed bed;
  bed.state(2, 1, "aborted", 7);
  CHECK(bed.aborted == std::pair{1, 7});
  CHECK(bed.broken.empty());
}

TEST_CASE("on one node ranks meet without us; when all are there is told") {
  Bed bed(60s, {{"w-0", "0-1"}});
  bed.state(1, 0, "connected");
  CHECK(bed.times("have reached it") == 0);
  bed.state(1, 1, "connected");
  bed.state(1, 1, "connected");
  CHECK(bed.times("all 2 ranks have reached it") == 1);
}

TEST_CASE("on one node a rank that leaves before MPI_Init is named") {
  Bed bed(60s, {{"w-0", "0-1"}});
  const bool others = GENERATE(false, true);
  bed.router->rank_ended(1, wire::Exited{});
  if (others) bed.state(1, 0, "connected");
  CHECK(bed.times("have reached it") == 0);
  run_for(bed.loop, 6s);
  REQUIRE(bed.broken.size() == (others ? 1 : 0));
  if (!others) return;
  CHECK(bed.broken[0].code == "rank_left_fence");
  CHECK(bed.blamed == 1);
}

TEST_CASE("an event goes to all other nodes") {
  Bed bed;
  bed.say(1, wire::FrameType::kRankEvent, 0, "event");
  CHECK(bed.last(2, wire::FrameType::kRankEvent) == "event");
  CHECK(bed.count(1, wire::FrameType::kRankEvent) == 0);
}

TEST_CASE("a lookup waits for its key, but not for ever") {
  Bed bed;
  const auto look_up = [&bed](uint32_t id, const char* key, int timeout_ms) {
    bed.say(1, FrameType::kNames, id,
            wire::to_json(
                wire::NamesRequest{"lookup", 0, {key}, {}, true, timeout_ms}));
  };
  look_up(3, "k", 0);
  look_up(4, "never", 50);
  CHECK(bed.count(1, FrameType::kNamesReply) == 0);
  bed.say(
      2, FrameType::kNames, 1,
      wire::to_json(wire::NamesRequest{"publish", 1, {"k"}, {"v"}, false, 0}));
  CHECK(bed.last(1, FrameType::kNamesReply).find("\"v\"") != std::string::npos);
  REQUIRE(run_until(bed.loop,
                    [&] { return bed.count(1, FrameType::kNamesReply) == 2; }));
  CHECK(bed.last(1, FrameType::kNamesReply).find("timeout") !=
        std::string::npos);
}

TEST_CASE("what is no fence ends the job, and its pod is named") {
  const auto refused = [](const std::function<void(Bed&)>& what) {
    Bed bed;
    what(bed);
    REQUIRE(bed.broken.size() == 1);
    CHECK(bed.broken[0].where == "w-0");
    return bed.broken[0].code;
  };
  CHECK(refused([](Bed& bed) {
          bed.say(1, FrameType::kFence, 5, "no JSON");
        }) == "protocol");
  CHECK(refused([](Bed& bed) {  // twice by one node
          bed.fence(1, 5, "pmix:*", "");
          bed.fence(1, 6, "pmix:*", "");
        }) == "protocol");
  CHECK(refused([](Bed& bed) {  // more than announced
          bed.fence(1, 5, "pmix:*", "ab");
          bed.say(1, FrameType::kFence, 6,
                  wire::to_json(wire::FenceCall{"pmix:*", 1, 2}));
          bed.say(1, FrameType::kModexData, 6, "abc");
        }) == "protocol");
  CHECK(refused([](Bed& bed) {
          bed.say(
              1, FrameType::kFence, 5,
              wire::to_json(wire::FenceCall{"pmix:*", 0, kMostModexBytes + 1}));
        }) == "modex_too_large");
}

TEST_CASE("a node that speaks for a rank of another ends the job") {
  const auto refused = [](const std::function<void(Bed&)>& what) {
    Bed bed;
    what(bed);
    CHECK(bed.aborted.first == -1);
    CHECK(bed.count(1, FrameType::kNamesReply) == 0);
    REQUIRE(bed.broken.size() == 1);
    CHECK(bed.broken[0].code == "protocol");
    return bed.broken[0].text();
  };
  const std::string sentence =
      "w-0: an agent spoke for another's rank: rank 1 on w-1; this is a "
      "defect of muster";
  for (const char* state : {"connected", "finalized", "aborted"}) {
    CHECK(refused([&](Bed& bed) { bed.state(1, 1, state, 7); }) == sentence);
  }
  for (const char* operation : {"publish", "unpublish", "lookup"}) {
    CHECK(refused([&](Bed& bed) {
            bed.say(1, FrameType::kNames, 3,
                    wire::to_json(wire::NamesRequest{
                        operation, 1, {"k"}, {"v"}, false, 0}));
          }) == sentence);
  }
  CHECK(refused([](Bed& bed) { bed.state(1, 9, "connected"); }) ==
        "w-0: an agent spoke for another's rank: rank 9, unknown; this is a "
        "defect of muster");
  // What it said has changed nothing: rank 1 is still awaited.
  Bed bed(50ms);
  bed.state(2, 1, "connected");
  bed.say(1, FrameType::kRankState, 0, "no JSON");
  REQUIRE(bed.broken.size() == 1);
  CHECK(bed.broken[0].where == "w-0");
}

TEST_CASE("a pod without ranks takes no part") {
  Bed bed;
  bed.fence(0, 5, "pmix:*", "");
  CHECK(bed.count(0, FrameType::kModexReply) == 0);
  CHECK(bed.broken.empty());
}

}  // namespace
}  // namespace muster
