// SPDX-License-Identifier: Apache-2.0
// Samples and Xids into counters; the helper against a library with NVML's
// entry points (no GPU is seen), and sysfs as amdgpu writes it.
#include "worker/facts/gpu_watch.h"

#include <cstdlib>
#include <fstream>

#include "../base/temporary_directory.h"
#include "../launcher/run_loop.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("lines there and back, and what is none") {
  CHECK(gpu_sample_from_line(to_line({8, 712, 1, 2, 0}))->ids.empty());
  const auto back = gpu_sample_from_line(
      to_line({8, 712, 1'000, 2'000, -1, {"GPU-1", "GPU-2"}}));
  REQUIRE(back);
  CHECK(back->gpus == 8);
  CHECK(back->busy_percent == 712);
  CHECK(back->memory_used == 1'000);
  CHECK(back->memory_total == 2'000);
  CHECK(back->slowed == -1);
  CHECK(back->ids == std::vector<std::string>{"GPU-1", "GPU-2"});
  const auto each = gpu_sample_from_line(
      to_line({2,
               112,
               30,
               160,
               0,
               {"GPU-1", "GPU-2"},
               {{"GPU-1", 12, 10, 80}, {"GPU-2", 100, 20, -1}}}));
  REQUIRE(each);
  REQUIRE(each->each.size() == 2);
  CHECK(each->each[1].id == "GPU-2");
  CHECK(each->each[1].percent == 100);
  CHECK(each->each[1].memory_used == 20);
  CHECK(each->each[1].memory_total == -1);
  for (const char* line :
       {"", "8", "8 1 2 3", "8 1 2 3 4", "8 1 2 3 4 -", "8 1 2 3 4 5 6 7",
        "0 1 2 3 4 - -", "65 1 2 3 4 - -", "8 -2 2 3 4 - -", "8 x 2 3 4 - -",
        "8 1 2 3 4 - 1:2", "8 1 2 3 4 - 1:2:3:4", "8 1 2 3 4 - 1:-2:3"}) {
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
  CHECK(out.gpu_memory_used == int64_t{409} << 20);
  CHECK(out.gpu_memory_total == int64_t{80} << 30);
}

TEST_CASE("lines about Xids there and back, and what is none") {
  const auto back =
      xid_news_from_line(to_line({79, 3, 2, "0000:1a:00.0", "MIG-1", true}));
  REQUIRE(back);
  CHECK(back->xid == 79);
  CHECK(back->gpu == 3);
  CHECK(back->count == 2);
  CHECK(back->pci == "0000:1a:00.0");
  CHECK(back->uuid == "MIG-1");
  CHECK(back->mig);
  CHECK(xid_news_from_line(to_line({43, 0, 1, "", "", false}))->pci.empty());
  for (const char* line :
       {"", "xid", "xid 79 0 1 - -", "xid 0 0 1 - - gpu", "xid 79 -1 1 - - gpu",
        "xid 79 0 0 - - gpu", "xid 79 0 1 - - cpu", "xid x 0 1 - - gpu",
        "xid 79 0 1 - - gpu more", "xid 99999999999 0 1 - - gpu"}) {
    INFO(line);
    CHECK_FALSE(xid_news_from_line(line));
  }
}

TEST_CASE("Xids are counted by GPU and number, and only so many kinds") {
  XidCounts counts;
  const Clock::time_point begin = Clock::now();
  counts.add({31, 0, 1, "", "GPU-0", false}, begin);
  counts.add({31, 0, 500, "", "GPU-0", false}, begin + 3s);
  counts.add({31, 1, 1, "", "GPU-1", false}, begin + 4s);
  wire::PodCounters out;
  counts.tell(out, begin + 5s);
  REQUIRE(out.xids.size() == 2);
  CHECK(out.xids[0].count == 501);
  CHECK(out.xids[0].first_ms == 5'000);
  CHECK(out.xids[0].last_ms == 2'000);
  for (int xid = 1; xid < 200; ++xid)
    counts.add({xid, 2, 1, "", "", false}, begin);
  wire::PodCounters many;
  counts.tell(many, begin + 5s);
  CHECK(many.xids.size() == wire::kMostXids);
  const auto back =
      wire::pod_counters_from_json(wire::heartbeat_payload({}, many));
  REQUIRE(back);
  CHECK(back->xids.size() == wire::kMostXids);
  CHECK(back->xids[0].uuid == "GPU-0");
  CHECK(back->xids[0].first_ms == 5'000);
}

namespace {

// The helper against the library with events, in an environment of its own.
class Xids {
 public:
  explicit Xids(Environment environment) {
    environment.emplace_back("FAKE_GPU_EVENTS", events());
    for (const auto& [name, value] : environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    say("0 79");  // before anybody listens
    watch_.emplace(loop_, reaper_,
                   GpuWatchEvents{[this] { ++news_; },
                                  [this](const std::string& text) {
                                    problems_.push_back(text);
                                  }});
    watch_->start(MUSTER_AGENT_BINARY, MUSTER_FAKE_GPU);
    for (const auto& [name, value] : environment) ::unsetenv(name.c_str());
    // The first sample comes once it listens.
    REQUIRE(test::run_until(loop_, [this] { return told().gpus > 0; }));
  }
  void say(const std::string& line) {
    std::ofstream(events(), std::ios::app) << line << std::endl;
  }
  wire::PodCounters told() {
    wire::PodCounters out;
    watch_->tell(out);
    return out;
  }
  bool until(const std::function<bool()>& met) {
    return test::run_until(loop_, met);
  }
  int news() const { return news_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::string events() const { return directory_.path() + "/events"; }

  TemporaryDirectory directory_;
  Loop loop_;
  Reaper reaper_{loop_};
  int news_ = 0;
  std::vector<std::string> problems_;
  std::optional<GpuWatch> watch_;
};

}  // namespace

// As tests/gpu/recorded/xid-user.txt has them: GPU and number, no instance.
TEST_CASE("the helper tells of Xids as they come, and of none before") {
  Xids xids(Environment{{"FAKE_GPU_COUNT", "2"}});
  CHECK(xids.told().xids.empty());
  xids.say("0 43");
  REQUIRE(xids.until([&] { return xids.news() > 0; }));
  const wire::GpuXid first = xids.told().xids.at(0);
  CHECK(first.xid == 43);
  CHECK(first.gpu == 0);
  CHECK(first.pci == "0000:1a:00.0");
  CHECK(first.uuid == "GPU-fa4e-0");
  CHECK_FALSE(first.mig);
  xids.say("1 31");
  REQUIRE(xids.until([&] { return xids.told().xids.size() == 2; }));
  CHECK(xids.told().xids[1].uuid == "GPU-fa4e-1");
  CHECK(xids.told().gpu_ids ==
        std::vector<std::string>{"GPU-fa4e-0", "GPU-fa4e-1"});
  CHECK(xids.problems().empty());
}

TEST_CASE("many Xids at once are few lines, and each is counted") {
  Xids xids(Environment{});
  for (int i = 0; i < 200; ++i) xids.say("0 31");
  REQUIRE(xids.until([&] {
    const auto told = xids.told().xids;
    return told.size() == 1 && told[0].count == 200;
  }));
  CHECK(xids.news() < 20);
}

TEST_CASE(
    "an Xid of a MIG instance is told by its name, another pod's is not") {
  Xids xids(Environment{{"FAKE_GPU_MIG", "MIG-7"}});
  xids.say("0 43 5 0");  // an instance that this pod does not have
  xids.say("0 43 2 0");
  xids.say("0 79");  // of the whole GPU
  REQUIRE(xids.until([&] { return xids.told().xids.size() == 2; }));
  const auto told = xids.told().xids;
  CHECK(told[0].xid == 43);
  CHECK(told[0].uuid == "MIG-7");
  CHECK(told[0].mig);
  CHECK(told[0].count == 1);
  CHECK(told[1].uuid == "GPU-fa4e-0");
  CHECK_FALSE(told[1].mig);
  CHECK(xids.told().gpu_ids == std::vector<std::string>{"MIG-7"});
}

TEST_CASE("a driver that fails in between goes on, one that is gone is told") {
  Xids xids(Environment{});
  xids.say("error 999");
  xids.say("0 63");
  REQUIRE(xids.until([&] { return xids.news() == 1; }));
  CHECK(xids.problems().empty());
  for (int i = 0; i < 3; ++i) xids.say("error 15");
  REQUIRE(xids.until([&] { return !xids.problems().empty(); }));
  CHECK(xids.problems()[0].find("error 15") != std::string::npos);
  xids.say("0 79");
  CHECK(xids.told().gpus == 1);  // the samples go on
}

TEST_CASE("a driver without events is told once, and sampled all the same") {
  Xids xids(Environment{{"FAKE_GPU", "old"}});
  CHECK(xids.problems().size() == 1);
  CHECK(xids.told().gpu_memory_used == int64_t{1} << 30);
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
