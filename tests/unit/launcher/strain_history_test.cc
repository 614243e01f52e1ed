// SPDX-License-Identifier: Apache-2.0
// Counters of heartbeats made into shares and rates; which samples are kept.
#include "launcher/report/strain_history.h"

#include "catch.h"
#include "launcher/run/pod_record.h"

using namespace muster;

namespace {

Clock::time_point at(int64_t second, int64_t ns = 0) {
  return Clock::time_point(std::chrono::seconds(second) +
                           std::chrono::nanoseconds(ns));
}

wire::PodCounters counters(int64_t periods, int64_t throttled,
                           int64_t io_stall_us, int64_t rdma_sent) {
  wire::PodCounters out;
  out.cpu_periods = periods;
  out.cpu_throttled = throttled;
  out.io_stall_us = io_stall_us;
  out.rdma_sent = rdma_sent;
  return out;
}

}  // namespace

TEST_CASE("shares are of the job and of its last seconds") {
  StrainHistory history;
  CHECK(history.strain().job.throttled == -1);
  // 40 calm seconds, then 20 choked ones, in beats of 2 s.
  for (int beat = 0; beat <= 30; ++beat) {
    const int choked = std::max(0, beat - 20);
    history.add(at(beat * 2),
                counters(beat * 20, choked * 18, choked * 1'000'000, 0));
  }
  const NodeStrain strain = history.strain();
  CHECK(strain.job.throttled == Approx(0.3));
  CHECK(strain.recent.throttled == Approx(0.9));
  CHECK(strain.recent_ms == 12'000);
  CHECK(strain.recent.io_stall == Approx(0.5));
  CHECK(strain.job.memory_stall == -1);
}

TEST_CASE("the busiest stretch counts, and beats in one go do not") {
  StrainHistory history;
  history.add(at(0), counters(0, 0, 0, 0));
  history.add(at(2), counters(0, 0, 0, 50'000'000'000));
  history.add(at(2, 1), counters(0, 0, 0, 60'000'000'000));
  history.add(at(4), counters(0, 0, 0, 60'000'000'000));
  CHECK(history.strain().rdma_gbps == Approx(200));
  CHECK(history.strain().network_gbps == -1);
}

TEST_CASE("GPUs count from the first beat that knows them") {
  StrainHistory history;
  const auto beat = [&](int64_t second, int64_t busy_us) {
    wire::PodCounters now = counters(0, 0, 0, 0);
    now.gpus = 4;
    now.gpu_busy_us = busy_us;
    history.add(at(second), now);
  };
  history.add(at(0), counters(0, 0, 0, 0));
  CHECK(history.strain().gpus == -1);
  beat(100, 0);
  beat(110, 30'000'000);
  history.add(at(200), counters(0, 0, 0, 0));  // their helper has gone
  CHECK(history.strain().gpus == 4);
  CHECK(history.strain().gpu_use == Approx(0.75));
  CHECK(history.strain().gpu_slowed == -1);
}

TEST_CASE("a replaced pod's counters start again and say nothing") {
  StrainHistory history;
  history.add(at(0), counters(1000, 900, 0, 1 << 30));
  history.add(at(2), counters(3, 1, 0, 5));
  CHECK(history.strain().job.throttled == -1);
  CHECK(history.strain().rdma_gbps == -1);
}

TEST_CASE("of many memory samples the first, the fullest and the last stay") {
  std::vector<MemorySample> samples;
  for (int64_t i = 0; i < 50; ++i) {
    keep_sample(samples, {i, i == 20 ? 1000 : i, 2000, -1, 0});
  }
  CHECK(samples.size() == 8);
  CHECK(samples.front().time_ns == 0);
  CHECK(samples.back().time_ns == 49);
  CHECK(samples[1].bytes == 1000);
}
