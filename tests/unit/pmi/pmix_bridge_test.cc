// SPDX-License-Identifier: Apache-2.0
// Where libpmix' thread and our loop meet, without libpmix: threads that post
// as its upcalls do. Of use above all under ThreadSanitizer.
#include "worker/pmix/agent_pmix_bridge.h"

#include <atomic>
#include <map>
#include <thread>

#include "catch.h"
#include "worlds.h"

using namespace muster;

namespace {

struct Setting {
  Setting()
      : world(*test::make_world(2, {"0", "1"})),
        modex([](wire::FrameType, uint8_t, uint32_t, std::string_view) {}) {
    PmiEvents events;
    events.connected = [this](int rank) { ++connected[rank]; };
    bridge =
        std::make_shared<PmixBridge>(loop, world, modex, events, PmixLibrary{});
    PmixBridge::set_current(bridge.get());
    guard.start(Milliseconds(60000), [this] { loop.stop(); });
  }
  ~Setting() { PmixBridge::set_current(nullptr); }

  Loop loop;
  Timer guard{loop};
  World world;
  ModexClient modex;
  std::map<int, int> connected;
  std::shared_ptr<PmixBridge> bridge;
};

}  // namespace

TEST_CASE("what threads post runs on the loop, whole and in order") {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  Setting setting;
  std::map<int, int> last;
  int out_of_order = 0;
  int done = 0;
  std::vector<std::thread> threads;
  for (int who = 0; who < kThreads; ++who) {
    threads.emplace_back([&, who] {
      PmixBridge* bridge = PmixBridge::current();
      for (int i = 1; i <= kTasks; ++i) {
        bridge->post([&, bridge, who, i] {
          if (++last[who] != i) ++out_of_order;
          setting.bridge->events().connected(bridge->world().own_node());
          setting.bridge->count_group("all");
          if (++done == kThreads * kTasks) setting.loop.stop();
        });
      }
    });
  }
  setting.loop.run();
  for (std::thread& thread : threads) thread.join();
  CHECK(done == kThreads * kTasks);
  CHECK(out_of_order == 0);
  CHECK(setting.connected[0] == kThreads * kTasks);
  CHECK(setting.bridge->count_group("all") == kThreads * kTasks);
}

TEST_CASE("what was posted is taken in before the loop comes to it") {
  Setting setting;
  bool ran = false;
  std::thread upcall([&] { setting.bridge->post([&ran] { ran = true; }); });
  upcall.join();
  setting.bridge->drain();  // as when the rank has ended
  CHECK(ran);
}

TEST_CASE("nothing runs once the bridge is gone") {
  Setting setting;
  std::atomic<bool> ran{false};
  std::thread upcall([&] { setting.bridge->post([&ran] { ran = true; }); });
  upcall.join();
  PmixBridge::set_current(nullptr);
  setting.bridge.reset();
  setting.loop.post([&setting] { setting.loop.stop(); });
  setting.loop.run();
  CHECK_FALSE(ran);
  CHECK(PmixBridge::current() == nullptr);
}
