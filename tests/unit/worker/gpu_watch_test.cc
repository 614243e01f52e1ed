// SPDX-License-Identifier: Apache-2.0
// Samples into counters; the helper against a library with NVML's entry points
// (no GPU is seen), and sysfs as amdgpu writes it.
#include "worker/facts/gpu_watch.h"

#include "../base/temporary_directory.h"
#include "../launcher/run_loop.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("lines there and back, and what is none") {
  const auto back = gpu_sample_from_line(to_line({8, 712, 1'000, 2'000, -1}));
  REQUIRE(back);
  CHECK(back->gpus == 8);
  CHECK(back->busy_percent == 712);
  CHECK(back->memory_used == 1'000);
  CHECK(back->memory_total == 2'000);
  CHECK(back->slowed == -1);
  for (const char* line : {"", "8", "8 1 2 3", "8 1 2 3 4 5", "0 1 2 3 4",
                           "65 1 2 3 4", "8 -2 2 3 4", "8 x 2 3 4"}) {
    INFO(line);
    CHECK_FALSE(gpu_sample_from_line(line));
  }
}

TEST_CASE("GPU time adds up, and what is old is unknown again") {
  GpuUse use;
  const Clock::time_point begin = Clock::now();
  wire::PodCounters out;
  use.tell(out, begin);
  CHECK(out.gpus == -1);
  CHECK(out.gpu_busy_us == -1);
  use.add({2, 150, 10, 20, 1}, begin);
  use.add({2, 50, 12, 20, 0}, begin + 10s);
  use.tell(out, begin + 12s);
  CHECK(out.gpu_busy_us == 16'000'000);
  CHECK(out.gpu_percent == 25);
  use.add({2, 0, 12, 20, 0}, begin + 14s);
  use.tell(out, begin + 15s);
  CHECK(out.gpus == 2);
  CHECK(out.gpu_busy_us == 17'000'000);  // 10 s of 1.5 GPUs, 4 s of a half
  CHECK(out.gpu_slowed_us == 10'000'000);
  CHECK(out.gpu_percent == 0);
  CHECK(out.gpu_memory_used == 12);
  // The helper has died, or waits for a sick GPU.
  wire::PodCounters later;
  use.tell(later, begin + 40s);
  CHECK(later.gpus == -1);
  CHECK(later.gpu_memory_used == -1);
  CHECK(later.gpu_busy_us == 17'000'000);
  // A minute of silence is not a minute of work.
  use.add({2, 200, 12, 20, 0}, begin + 60s);
  use.add({2, 200, 12, 20, 0}, begin + 120s);
  use.tell(later, begin + 121s);
  CHECK(later.gpu_busy_us == 49'000'000);
}

TEST_CASE("a driver that does not tell everything leaves that out") {
  GpuUse use;
  use.add({1, -1, 5, 10, -1}, Clock::now());
  wire::PodCounters out;
  use.tell(out, Clock::now());
  CHECK(out.gpus == 1);
  CHECK(out.gpu_busy_us == -1);
  CHECK(out.gpu_slowed_us == -1);
  CHECK(out.gpu_memory_total == 10);
}

TEST_CASE("the helper asks NVML and goes when the agent does") {
  Loop loop;
  Reaper reaper(loop);
  wire::PodCounters out;
  {
    GpuWatch watch(loop, reaper);
    watch.start(MUSTER_AGENT_BINARY, MUSTER_FAKE_GPU);
    CHECK(test::run_until(loop, [&] {
      watch.tell(out);
      return out.gpus > 0;
    }));
  }
  CHECK(out.gpus == 1);
  CHECK(out.gpu_percent == 7);
  CHECK(out.gpu_memory_used == int64_t{1} << 30);
  CHECK(out.gpu_memory_total == int64_t{80} << 30);
}

TEST_CASE("without a GPU the helper ends, and nothing is told") {
  Loop loop;
  Reaper reaper(loop);
  GpuWatch watch(loop, reaper);
  watch.start(MUSTER_AGENT_BINARY, "/no/such/library.so");
  test::run_for(loop, 300ms);
  wire::PodCounters out;
  watch.tell(out);
  CHECK(out.gpus == -1);
}

TEST_CASE("of a node's AMD GPUs those of the pod count") {
  TemporaryDirectory tree;
  CHECK(sample_amd(tree.path()).gpus == 0);
  for (const char* card : {"128", "129", "130"}) {
    const std::string device =
        std::string("/sys/class/drm/renderD") + card + "/device/";
    tree.write(device + "gpu_busy_percent", "40\n");
    tree.write(device + "mem_info_vram_used", "1000\n");
    tree.write(device + "mem_info_vram_total", "4000\n");
  }
  tree.write("/dev/dri/renderD128", "");
  tree.write("/dev/dri/renderD130", "");
  tree.write("/dev/dri/renderD131", "");  // another vendor's
  const GpuSample sample = sample_amd(tree.path());
  CHECK(sample.gpus == 2);
  CHECK(sample.busy_percent == 80);
  CHECK(sample.memory_used == 2'000);
  CHECK(sample.memory_total == 8'000);
  CHECK(sample.slowed == -1);
}

}  // namespace
}  // namespace muster
