// SPDX-License-Identifier: Apache-2.0
// MemoryWatch: looks at the pod's memory ten times a second and calls back when
// it nears the limit, so that the launcher hears of it before the kernel kills
// the pod with its agent (cgroup v2, memory.oom.group). Heartbeats alone are
// two seconds apart, in which a rank takes gigabytes.
// Refuses nothing: without a limit it rests. Owns its timer; loop thread.
#pragma once

#include <functional>

#include "base/loop.h"
#include "worker/facts/agent_health.h"

namespace muster {

// Whether `usage` is worth telling, after `told` was: from three quarters of
// the limit on, each sixty-fourth of it. Pure.
bool worth_telling(int64_t usage, int64_t told, int64_t limit);

class MemoryWatch {
 public:
  MemoryWatch(Loop& loop, const HealthSampler& health,
              std::function<void()> near_limit);

  void start();
  void stop();
  // The usage that the launcher already knows.
  void told(const wire::HealthSample& sample);

 private:
  void look();

  const HealthSampler& health_;
  std::function<void()> near_limit_;
  int64_t told_ = -1;
  int64_t limit_ = -1;
  Timer timer_;
};

}  // namespace muster
