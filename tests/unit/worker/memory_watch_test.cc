// SPDX-License-Identifier: Apache-2.0
// A pod that nears its limit is told of at once; page cache does not count.
#include "worker/facts/memory_watch.h"

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

namespace {

void write_memory(TemporaryDirectory& tree, int64_t current,
                  int64_t inactive_file) {
  tree.write("/proc/self/cgroup", "0::/\n");
  tree.write("/proc/self/mountinfo",
             "30 25 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
  tree.write("/sys/fs/cgroup/memory.max", "1000000\n");
  tree.write("/sys/fs/cgroup/memory.current", std::to_string(current) + "\n");
  tree.write("/sys/fs/cgroup/memory.stat",
             "anon 5\ninactive_file " + std::to_string(inactive_file) + "\n");
}

}  // namespace

TEST_CASE("from three quarters on each sixty-fourth is worth telling") {
  CHECK_FALSE(worth_telling(74, 0, 100));
  CHECK(worth_telling(75, 0, 100));
  CHECK_FALSE(worth_telling(6410, 6400, 6400));
  CHECK(worth_telling(6500, 6400, 6400));
  CHECK_FALSE(worth_telling(100, 0, -1));
  CHECK_FALSE(worth_telling(-1, -1, 100));
}

TEST_CASE("memory is told as it fills, before the next heartbeat") {
  TemporaryDirectory tree;
  write_memory(tree, 900'000, 800'000);  // nearly all of it page cache
  Loop loop;
  HealthSampler health(tree.path());
  CHECK(health.sample().memory_bytes == 100'000);
  int told = 0;
  Timer fill(loop);
  Timer guard(loop);
  std::unique_ptr<MemoryWatch> watch;
  watch = std::make_unique<MemoryWatch>(loop, health, [&] {
    const auto sample = health.sample();
    CHECK(sample.memory_bytes > 750'000);
    watch->told(sample);
    if (++told == 2) return loop.stop();
    write_memory(tree, 990'000, 0);
  });
  watch->told(health.sample());
  watch->start();
  fill.start(Milliseconds{300}, [&] {
    CHECK(told == 0);
    write_memory(tree, 900'000, 0);
  });
  guard.start(Milliseconds{20'000}, [&] { loop.stop(); });
  loop.run();
  CHECK(told == 2);
}
