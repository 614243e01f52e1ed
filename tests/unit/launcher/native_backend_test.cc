// SPDX-License-Identifier: Apache-2.0
// What agents say of natively started ranks, and what is made of it.
#include "launcher/start/native_backend.h"

#include <sys/wait.h>

#include "catch.h"
#include "fake_fleet.h"

namespace muster {
namespace {

using test::FakeFleet;

struct Bed {
  Bed() {
    REQUIRE(fleet.connect());
    NativeJob job;
    job.map.nspace = "n";
    job.map.size = 2;
    job.map.nodes = {{"w-0", "0"}, {"w-1", "1"}};
    job.fleet_nodes = {1, 2};
    for (int rank = 0; rank < 2; ++rank) {
      NativeRank one;
      one.rank = rank;
      one.node = static_cast<uint16_t>(rank + 1);
      one.argv = {"/bin/true"};
      job.ranks.push_back(std::move(one));
    }
    BackendEvents events;
    events.on_rank_starting = [](const RankRecord&) {};
    events.on_rank_exited = [this](ProcessKey key, const wire::Exited& exit) {
      ends[key.node] = exit.wait_status;
    };
    events.on_wants_stdin = [](ProcessKey) {};
    events.on_world_broken = [](const Error&, int) {};
    events.on_finished = [this](auto&) { ++finished; };
    backend = std::make_unique<NativeBackend>(
        loop, *fleet.fleet, std::move(job), std::move(events));
    backend->start();
  }
  void ended(uint16_t node, const std::string& payload) {
    const uint32_t id = node;  // of the only rank there
    fleet.peers[node]->say(wire::FrameType::kExited, id, payload);
  }

  Loop loop;
  FakeFleet fleet{loop, {"l", "w-0", "w-1"}};
  std::map<uint16_t, int> ends;
  int finished = 0;
  std::unique_ptr<NativeBackend> backend;
};

TEST_CASE("each rank is started once, and the last end is the backend's") {
  Bed bed;
  CHECK(bed.fleet.peers[1]->count(wire::FrameType::kStart) == 1);
  CHECK(bed.fleet.peers[2]->count(wire::FrameType::kStart) == 1);
  bed.ended(1, wire::to_json(wire::Exited{}));
  bed.ended(1, wire::to_json(wire::Exited{}));  // once counts
  CHECK(bed.finished == 0);
  bed.ended(2, wire::to_json(wire::Exited{}));
  CHECK(bed.finished == 1);
  CHECK(bed.ends == std::map<uint16_t, int>{{1, 0}, {2, 0}});
}

TEST_CASE("a rank whose output is on its way has failed, but not ended") {
  Bed bed;
  wire::Exited exit;
  exit.wait_status = 6 << 8;
  exit.draining = true;
  bed.ended(1, wire::to_json(exit));
  CHECK(bed.ends == std::map<uint16_t, int>{{1, 6 << 8}});
  bed.ended(2, wire::to_json(wire::Exited{}));
  CHECK(bed.finished == 0);
  exit.draining = false;
  bed.ended(1, wire::to_json(exit));
  CHECK(bed.finished == 1);
}

TEST_CASE("an agent speaks for its own ranks only") {
  Bed bed;
  const uint32_t id = 1;  // of the rank on the other worker
  bed.fleet.peers[2]->say(wire::FrameType::kExited, id,
                          wire::to_json(wire::Exited{}));
  CHECK(bed.ends.empty());
}

TEST_CASE("an end that cannot be read is no good one") {
  Bed bed;
  bed.ended(1, R"({"user_us": 1})");
  REQUIRE(bed.ends.count(1) == 1);
  CHECK(WIFEXITED(bed.ends[1]));
  CHECK(WEXITSTATUS(bed.ends[1]) == 255);
}

}  // namespace
}  // namespace muster
