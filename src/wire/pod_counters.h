// SPDX-License-Identifier: Apache-2.0
// What a pod has used so far, told with each heartbeat: CPU, time stalled for
// want of memory, bytes of its network interfaces and RDMA ports. Counters,
// since the pod or the node started; -1: not known there.
// The fields lie beside those of HealthSample in one JSON object, so that an
// older peer reads what it knows. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/messages.h"

namespace muster::wire {

struct PodCounters {
  int64_t cpu_us = -1;
  int64_t memory_stall_us = -1;  // PSI: all tasks waited for memory
  int64_t network_received = -1;
  int64_t network_sent = -1;
  int64_t rdma_received = -1;
  int64_t rdma_sent = -1;
  int64_t rdma_errors = -1;  // of ports and of retransmission
};

std::string heartbeat_payload(const HealthSample& health,
                              const PodCounters& counters);
// Error code "protocol".
Result<PodCounters> pod_counters_from_json(std::string_view heartbeat);

}  // namespace muster::wire
