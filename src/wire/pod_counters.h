// SPDX-License-Identifier: Apache-2.0
// The resources that a pod has used so far; each heartbeat carries them: CPU
// and how often its limit held it back, time stalled for lack of CPU, memory or
// storage, bytes of its network interfaces and RDMA ports, errors of its GPUs.
// Counters, since the pod or the node started; -1: not known there. The fields
// lie beside those of HealthSample in one JSON object, so that an older peer
// reads the ones it knows. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"

namespace muster::wire {

// An error that NVIDIA's driver reported for one GPU, since ranks run. The
// driver names no process.
struct GpuXid {
  int xid = 0;
  int gpu = -1;          // its index in the pod
  std::string pci;       // "0000:1a:00.0"
  std::string uuid;      // of the GPU or, if mig, of its instance
  bool mig = false;      // it concerns one MIG instance alone
  int64_t count = 0;     // how often it came
  int64_t first_ms = 0;  // how long ago, the first of them …
  int64_t last_ms = 0;   // … and the last
};

// The use of one rank of the pod and of the processes below it, so far.
struct RankUse {
  uint32_t id = 0;            // of its frames
  int64_t cpu_us = -1;        // CPU time
  int64_t memory_bytes = -1;  // resident; what processes share counts for each
};

// One GPU or MIG instance, now; -1: not known.
struct GpuNow {
  std::string id;  // as in gpu_ids; empty: not known
  int64_t percent = -1;
  int64_t memory_used = -1;
  int64_t memory_total = -1;
};

struct PodCounters {
  int64_t cpu_us = -1;
  int64_t cpu_periods = -1;      // of the CPU limit …
  int64_t cpu_throttled = -1;    // … and those in which it held the pod back
  int64_t cpu_stall_us = -1;     // PSI: all tasks waited for a CPU,
  int64_t memory_stall_us = -1;  // for memory,
  int64_t io_stall_us = -1;      // for storage
  int64_t network_received = -1;
  int64_t network_sent = -1;
  int64_t rdma_received = -1;
  int64_t rdma_sent = -1;
  int64_t rdma_errors = -1;    // of ports and of retransmission
  double rdma_port_gbps = -1;  // rates of the active ports, added up
  // GPUs of the pod together, while ranks run; the first two since then.
  int64_t gpu_busy_us = -1;    // GPU time
  int64_t gpu_slowed_us = -1;  // … with clocks held down by heat or power
  int64_t gpus = -1;
  int64_t gpu_percent = -1;  // now, their mean
  int64_t gpu_memory_used = -1;
  int64_t gpu_memory_total = -1;
  // Names of these GPUs, or MIG instances; empty: unknown.
  std::vector<std::string> gpu_ids;
  std::vector<GpuNow> gpu_list;  // one by one; an older agent tells none
  // Counters of loss that grew since the job's agent started, as
  // "mlx5_0/1 packet_seq_err +12".
  std::vector<std::string> grown;
  std::vector<GpuXid> xids;  // one for each GPU and number, at most kMostXids
  // The NCCL that the first rank of the pod has loaded; "": unknown.
  std::string nccl_version;
  std::string nccl_path;
  int nccl_rank = -1;
  std::vector<RankUse> ranks;  // those that run; an older agent tells none
  int64_t ranks_at_ms = -1;    // when, by the pod's steady clock
};

constexpr size_t kMostXids = 64;

std::string heartbeat_payload(const HealthSample& health,
                              const PodCounters& counters);
// Error code "protocol".
Result<PodCounters> pod_counters_from_json(std::string_view heartbeat);

}  // namespace muster::wire
