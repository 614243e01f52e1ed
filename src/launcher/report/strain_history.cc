// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/strain_history.h"

#include <algorithm>

namespace muster {

namespace {

constexpr size_t kSamples = 8;
// Heartbeats that arrive at once would make any rate.
constexpr int64_t kShortestNs = 500'000'000;

// The growth of a counter; -1: unknown.
double growth(int64_t from, int64_t to) {
  return from < 0 || to < from ? -1 : static_cast<double>(to - from);
}

double share(double part, double whole) {
  return part < 0 || whole <= 0 ? -1 : part / whole;
}

double rate_gbps(int64_t from, int64_t to, int64_t ns) {
  const double bytes = growth(from, to);
  return bytes < 0 ? -1 : bytes * 8 / static_cast<double>(ns);
}

StrainShares shares(const wire::PodCounters& from, const wire::PodCounters& to,
                    int64_t ns) {
  const double us = static_cast<double>(ns) / 1000;
  return {share(growth(from.cpu_throttled, to.cpu_throttled),
                growth(from.cpu_periods, to.cpu_periods)),
          share(growth(from.cpu_stall_us, to.cpu_stall_us), us),
          share(growth(from.memory_stall_us, to.memory_stall_us), us),
          share(growth(from.io_stall_us, to.io_stall_us), us)};
}

}  // namespace

void StrainHistory::add(Clock::time_point now,
                        const wire::PodCounters& counters) {
  const int64_t time_ns =
      std::chrono::nanoseconds(now.time_since_epoch()).count();
  const Sample sample{time_ns, counters};
  if (!samples_.empty() && time_ns - samples_.back().time_ns < kShortestNs) {
    // Its neighbour stays for the rates, and counts with its new values.
    samples_.back().counters.grown = counters.grown;
    return;
  }
  if (counters.gpus > 0) {
    if (!gpu_first_) gpu_first_ = sample;
    gpu_last_ = sample;
  }
  if (!samples_.empty()) note_rates(samples_.back(), sample);
  if (samples_.size() >= kSamples) samples_.erase(samples_.begin() + 1);
  samples_.push_back(sample);
}

void StrainHistory::note_rates(const Sample& from, const Sample& to) {
  const int64_t ns = to.time_ns - from.time_ns;
  const wire::PodCounters& a = from.counters;
  const wire::PodCounters& b = to.counters;
  rdma_gbps_ = std::max({rdma_gbps_, rate_gbps(a.rdma_sent, b.rdma_sent, ns),
                         rate_gbps(a.rdma_received, b.rdma_received, ns)});
  network_gbps_ =
      std::max({network_gbps_, rate_gbps(a.network_sent, b.network_sent, ns),
                rate_gbps(a.network_received, b.network_received, ns)});
}

void StrainHistory::tell_gpus(NodeStrain& out) const {
  if (!gpu_last_) return;
  out.gpus = gpu_last_->counters.gpus;
  out.gpu_ids = gpu_last_->counters.gpu_ids;
  const double us =
      static_cast<double>(gpu_last_->time_ns - gpu_first_->time_ns) / 1000;
  const auto part = [&](int64_t wire::PodCounters::*counter) {
    return share(
        growth(gpu_first_->counters.*counter, gpu_last_->counters.*counter),
        us * static_cast<double>(out.gpus));
  };
  out.gpu_use = part(&wire::PodCounters::gpu_busy_us);
  out.gpu_slowed = part(&wire::PodCounters::gpu_slowed_us);
}

NodeStrain StrainHistory::strain() const {
  NodeStrain out;
  if (samples_.empty()) return out;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const Sample& before = samples_.size() > 1 ? samples_[1] : first;
  out.job = shares(first.counters, last.counters, last.time_ns - first.time_ns);
  out.recent_ms = (last.time_ns - before.time_ns) / 1'000'000;
  out.recent =
      shares(before.counters, last.counters, last.time_ns - before.time_ns);
  out.rdma_gbps = rdma_gbps_;
  out.rdma_port_gbps = last.counters.rdma_port_gbps;
  out.network_gbps = network_gbps_;
  out.grown = last.counters.grown;
  tell_gpus(out);
  return out;
}

PodRates StrainHistory::rates() const {
  if (samples_.size() < 2) return {};
  const Sample& from = samples_[samples_.size() - 2];
  const Sample& to = samples_.back();
  const double seconds = static_cast<double>(to.time_ns - from.time_ns) / 1e9;
  const auto rate = [&](int64_t wire::PodCounters::*counter, double unit) {
    const double grown = growth(from.counters.*counter, to.counters.*counter);
    return grown < 0 ? -1 : grown / seconds / unit;
  };
  return {rate(&wire::PodCounters::cpu_us, 1e6),
          rate(&wire::PodCounters::network_received, 1),
          rate(&wire::PodCounters::network_sent, 1),
          rate(&wire::PodCounters::rdma_received, 1),
          rate(&wire::PodCounters::rdma_sent, 1)};
}

}  // namespace muster
