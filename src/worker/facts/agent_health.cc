// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/agent_health.h"

#include <sys/statvfs.h>
#include <time.h>

#include <map>
#include <utility>

#include "base/json_text.h"
#include "base/process_table.h"
#include "worker/facts/read_counters.h"

namespace muster {

namespace {

int64_t clock_us(clockid_t clock) {
  timespec now{};
  static_cast<void>(::clock_gettime(clock, &now));
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// A process counts for the first rank above it.
std::vector<wire::RankUse> use_of_ranks(
    const std::vector<std::pair<uint32_t, pid_t>>& ranks,
    const std::vector<ProcessSample>& processes) {
  constexpr int kDeepest = 64;
  std::map<pid_t, const ProcessSample*> known;
  for (const ProcessSample& one : processes) known[one.pid] = &one;
  std::map<pid_t, wire::RankUse> by_pid;
  for (const auto& [id, pid] : ranks) {
    if (known.contains(pid)) by_pid[pid] = {id, 0, 0};
  }
  for (const ProcessSample& one : processes) {
    pid_t above = one.pid;
    for (int i = 0; i < kDeepest && !by_pid.contains(above); ++i) {
      const auto found = known.find(above);
      if (found == known.end()) break;
      above = found->second->parent;
    }
    const auto rank = by_pid.find(above);
    if (rank == by_pid.end()) continue;
    rank->second.cpu_us += one.cpu_us;
    rank->second.memory_bytes += one.memory_bytes;
  }
  std::vector<wire::RankUse> out;
  for (const auto& [pid, use] : by_pid) out.push_back(use);
  return out;
}

}  // namespace

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

void HealthSampler::tell_ranks(
    const std::vector<std::pair<uint32_t, pid_t>>& ranks,
    wire::PodCounters& out) {
  if (ranks.empty()) return;
  const int64_t now_us = clock_us(CLOCK_MONOTONIC);
  if (now_us >= next_walk_us_) {
    const int64_t began_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    ranks_ = use_of_ranks(ranks, use_of_processes(root_ + "/proc"));
    ranks_at_ms_ = now_us / 1000;
    const int64_t took_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - began_us;
    next_walk_us_ = now_us + took_us * kRankShare;
  }
  out.ranks = ranks_;
  out.ranks_at_ms = ranks_at_ms_;
}

int64_t HealthSampler::memory_charge() const {
  return read_cgroup_charge(place_);
}

int64_t HealthSampler::memory_usage() const {
  return read_cgroup_memory(place_).usage;
}

int64_t HealthSampler::oom_kills() const { return read_oom_kills(place_); }

}  // namespace muster
