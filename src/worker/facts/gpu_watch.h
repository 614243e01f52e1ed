// SPDX-License-Identifier: Apache-2.0
// The load of a pod's GPUs while its ranks run, their memory in use, and the
// errors (Xids) that NVIDIA's driver reports. A helper process (`muster-agent
// gpu-watch`) asks every 5 s and writes a line: NVML for NVIDIA's, sysfs for
// AMD's; it waits for the driver's events in between. The agent itself opens no
// driver, so that a sick GPU holds up only the helper. Values older than 15 s
// are unknown again; Xids stay counted. Loop thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "wire/pod_counters.h"
#include "worker/facts/xid_line.h"

namespace muster {

// All GPUs of the pod together; -1: not known.
struct GpuSample {
  int64_t gpus = 0;
  int64_t busy_percent = -1;  // added up: 200 of two that are busy
  int64_t memory_used = -1;   // bytes
  int64_t memory_total = -1;
  int64_t slowed = -1;  // GPUs whose clocks are held down by heat or power
  std::vector<std::string> ids = {};  // their names; empty: not known
  std::vector<wire::GpuNow> each = {};
};

// "2 112 1234 5678 0 GPU-5e…,GPU-77… 12:34:56,100:1200:5622": names, then use
// and memory of each; "-" for none. nullopt: no such line.
std::string to_line(const GpuSample& sample);
std::optional<GpuSample> gpu_sample_from_line(std::string_view line);

// Samples made into counters: microseconds of GPUs since the first one.
class GpuUse {
 public:
  void add(const GpuSample& sample, Clock::time_point now);
  // Leaves `out` as it is where nothing is known.
  void tell(wire::PodCounters& out, Clock::time_point now) const;

 private:
  [[nodiscard]] double held_us(Clock::time_point now) const;
  [[nodiscard]] double busy_us(Clock::time_point now) const;
  [[nodiscard]] double slowed_us(Clock::time_point now) const;

  GpuSample last_;
  std::optional<Clock::time_point> at_;
  double busy_us_ = 0;
  double slowed_us_ = 0;
};

struct GpuWatchEvents {
  std::function<void()> on_xid;  // tell() says more than before
  // The reason why the helper cannot see something, in a sentence.
  std::function<void(const std::string&)> on_problem;
};

class GpuWatch {
 public:
  GpuWatch(Loop& loop, Reaper& reaper, GpuWatchEvents events = {})
      : loop_(loop), reaper_(reaper), events_(std::move(events)) {}
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Once, where the pod has a GPU's device; later calls do nothing. `binary`:
  // of muster-agent. `library`: instead of the driver's (tests).
  void start(const std::string& binary, const std::string& library = {});
  void tell(wire::PodCounters& out) const;
  // Takes the helper's output so far; calls on_xid for new ones.
  void catch_up();

 private:
  void read_some();
  void read_line(std::string_view line);

  Loop& loop_;
  Reaper& reaper_;
  GpuWatchEvents events_;
  bool started_ = false;
  pid_t pid_ = 0;
  UniqueFd out_;
  std::unique_ptr<FdWatch> watch_;
  std::string pending_;
  bool xid_news_ = false;
  GpuUse use_;
  XidCounts xids_;
};

// By sysfs under `root`; gpus 0: none there.
GpuSample sample_amd(const std::string& root);

// `muster-agent gpu-watch [LIBRARY]`; ends at once where there is no GPU.
int gpu_watch_main(const std::string& library);

}  // namespace muster
