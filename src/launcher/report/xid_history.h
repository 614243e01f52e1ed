// SPDX-License-Identifier: Apache-2.0
// XidHistory: the errors that NVIDIA's driver reported for one node's GPUs
// while the job ran, from heartbeat to heartbeat, for log lines and the
// diagnosis. An agent that connects again counts from 0 again. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "wire/pod_counters.h"

namespace muster {

class XidHistory {
 public:
  // The new ones in a heartbeat at `now_ns`.
  std::vector<XidEvidence> add(const std::vector<wire::GpuXid>& told,
                               int64_t now_ns);
  [[nodiscard]] const std::vector<XidEvidence>& all() const { return all_; }

 private:
  std::vector<XidEvidence> all_;
  std::vector<int64_t> told_;  // the agent's last count of each
};

// "pi-worker-0: GPU 0 (GPU-5e…): Xid 79: the GPU has fallen off the bus (…)".
std::string xid_line(const std::string& host, const XidEvidence& xid);

}  // namespace muster
