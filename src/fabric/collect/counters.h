// SPDX-License-Identifier: Apache-2.0
// Error and congestion counters of a pod's adapters, interfaces and TCP, before
// and after a test: the growth in between tells a lossy fabric from a slow one.
// Reads sysfs and /proc below `root`; skips unreadable files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster {

// "mlx5_0/1 packet_seq_err", "eth0 rx_crc_errors", "TCP RetransSegs".
using Counters = std::map<std::string, int64_t>;

struct GrownCounter {
  std::string name;
  int64_t growth = 0;
};

Counters read_counters(const std::string& root);
// The counters that grew, by how much; skips a counter that was reset
// meanwhile. TCP's counters only if one segment in a hundred was sent again.
// Pure.
std::vector<GrownCounter> grown_counters(const Counters& before,
                                         const Counters& after);
// "mlx5_0/1 packet_seq_err +12, eth0 rx_crc_errors +3"; "" for none. Pure.
std::string counters_text(const std::vector<GrownCounter>& grown);
// Whether one of them means lost or broken packets, and not congestion. Pure.
bool counters_tell_loss(const std::vector<GrownCounter>& grown);

}  // namespace muster
