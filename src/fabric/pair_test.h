// SPDX-License-Identifier: Apache-2.0
// check and bench between two pods over TCP: one listens, the other drives.
// Every wait has a deadline; the listener serves one peer and ends.
// Refuses: more than 4 GiB per direction. Nothing is authenticated: the port
// is open for one connection, carries no data of the job, and both sides end
// by their own deadline.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "fabric/fabric_options.h"

namespace muster {

struct PairResult {
  double latency_us = -1;  // median round trip
  double latency_p99_us = -1;
  double to_gbps = -1;  // towards the peer
  double from_gbps = -1;
  bool back_ok = false;  // the peer could connect to us
};

// Error codes, each an exit class: "connect" 31, "connect_back" 32,
// "bulk_stalls" 33 (small messages pass and large ones do not: MTU),
// "limits" 34, "peer_lost" 35.
Result<PairResult> drive_pair(const std::string& peer, bool bulk, int megabytes,
                              int timeout_ms);
// Serves one driver on a listening socket.
Status serve_pair(int listener, int timeout_ms);
// A listening socket on "[HOST:]PORT"; port 0: any, found in `port`.
Result<int> listen_tcp(const std::string& address, int& port);

int pair_main(const FabricOptions& options);

}  // namespace muster
