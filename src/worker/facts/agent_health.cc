// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/agent_health.h"

#include <sys/statvfs.h>

#include <utility>

#include "base/json_text.h"
#include "base/process_table.h"
#include "worker/facts/read_counters.h"

namespace muster {

HealthSampler::HealthSampler(std::string root)
    : root_(std::move(root)), place_(find_cgroup(root_)), errors_(root_) {}

wire::HealthSample HealthSampler::sample() const {
  wire::HealthSample out;
  const CgroupMemory memory = read_cgroup_memory(place_);
  out.memory_bytes = memory.usage;
  out.memory_limit = memory.limit;
  out.memory_peak = memory.peak;
  out.oom_kills = memory.oom_kills;
  struct statvfs shm {};
  if (::statvfs((root_ + "/dev/shm").c_str(), &shm) == 0) {
    out.shm_free =
        static_cast<int64_t>(shm.f_bavail) * static_cast<int64_t>(shm.f_frsize);
  }
  out.processes = count_processes(root_ + "/proc");
  out.realtime_ns = realtime_ns();
  return out;
}

wire::PodCounters HealthSampler::counters() {
  wire::PodCounters out = read_pod_counters(root_, place_);
  out.grown = errors_.at(std::chrono::steady_clock::now());
  return out;
}

int64_t HealthSampler::memory_charge() const {
  return read_cgroup_charge(place_);
}

int64_t HealthSampler::memory_usage() const {
  return read_cgroup_memory(place_).usage;
}

int64_t HealthSampler::oom_kills() const { return read_oom_kills(place_); }

}  // namespace muster
